#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"

namespace sotto::cli {
namespace {

/// Columns on screen: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

bool numeric(const std::string& cell) {
  return cell.empty() || cell == "-" || cell.find_first_of("0123456789") == 0 ||
         ((cell[0] == '-' || cell[0] == '+') && cell.size() > 1 &&
          cell.find_first_of("0123456789") == 1);
}

}  // namespace

Progress::Progress(std::string label, std::uint64_t total)
    : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) == 1) {
  if (total > 0) update(0, total);
}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (visible_) std::fputs("\r\033[K", stderr);
  visible_ = false;
}

void Progress::update(std::uint64_t done, std::uint64_t total, const std::string& note) {
  if (!terminal_) return;
  if (!first_) first_ = done;
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (elapsed < 0.5 || now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  visible_ = true;
  std::string line = label_;
  if (total > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto filled = static_cast<std::size_t>(share * 24.0);
    line += fmt::format(" [{}{}] {:3.0f} %", std::string(filled, '#'),
                        std::string(24 - filled, '.'), 100.0 * share);
    if (done > *first_ && done <= total) {
      const auto rest = static_cast<double>(total - done);
      line += ", " + duration(elapsed * rest / static_cast<double>(done - *first_)) + " left";
    }
  }
  if (!note.empty()) line += "  " + note;
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

std::string shape_text(const SampleShape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> rows = rows_;
  // Cells may come from a stranger's file.
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = one_line(cell);
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  std::vector<bool> right(rows.front().size(), rows.size() > 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size() && c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], width(rows[r][c]));
      if (r > 0 && !numeric(rows[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size() && c < widths.size(); ++c) {
      const std::string pad(widths[c] - width(rows[r][c]), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? pad + rows[r][c] : rows[r][c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
    if (r == 0) {
      std::size_t total = 2 * (widths.size() - 1);
      for (const std::size_t w : widths) total += w;
      text += std::string(total, '-') + '\n';
    }
  }
  return text;
}

std::string epsilon_text(double epsilon) {
  return std::isinf(epsilon) ? "infinite" : fmt::format("{}", epsilon);
}

}  // namespace sotto::cli
