#include "server/coordinator/opened.h"

#include <charconv>

namespace sotto::rpc {
namespace {

/// "ROUND GROUP"; false where the line is not that.
bool read_line(std::string_view line, RoundId& round, std::size_t& group) {
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, round);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return false;
  const auto second = std::from_chars(first.ptr + 1, end, group);
  return second.ec == std::errc() && second.ptr == end;
}

}  // namespace

Result<OpenedRounds> OpenedRounds::open(const std::filesystem::path& file) {
  OpenedRounds opened;
  std::string text;
  if (std::filesystem::exists(file)) {
    SOTTO_TRY(text, read_text(file));
  }
  text.resize(text.rfind('\n') + 1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    RoundId round = 0;
    std::size_t group = 0;
    if (!read_line(std::string_view(text).substr(begin, end - begin), round, group)) {
      return fail(ErrorKind::kCorrupt, file.string() + ": not a list of rounds and groups");
    }
    opened.rounds_.emplace(round, group);
    begin = end + 1;
  }
  SOTTO_TRY(opened.file_, AppendedFile::open(file, text.size()));
  return opened;
}

Result<void> OpenedRounds::add(RoundId round, std::size_t group) {
  if (has(round, group)) return {};
  SOTTO_CHECK(file_->append(std::to_string(round) + ' ' + std::to_string(group) + '\n'));
  rounds_.emplace(round, group);
  return {};
}

}  // namespace sotto::rpc
