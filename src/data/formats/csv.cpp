// CSV with commas. Cells may be quoted, but hold neither quotes nor line breaks: numbers and class
// names need none, and a stray quote is then an error instead of a swallowed file.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/bytes.h"
#include "data/formats/parsers.h"
#include "data/formats/reading.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr std::array<std::string_view, 4> kLabelNames = {"label", "class", "target", "y"};

/// No table has more: a line of a hundred megabytes is a mistake, or an attack.
constexpr std::size_t kMostColumns = std::size_t{1} << 20;
/// Of a class that has a name.
constexpr std::size_t kLongestLabel = 1024;

/// Labels as their rows have them: each different text once, and its number in every row. A table
/// of few bytes a row would else take many times its size.
struct LabelTexts {
  struct Text {
    std::string_view text;
    std::size_t line;  // of the first row that has it
  };
  std::vector<Text> texts;
  std::map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> rows;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A finite number that fits a float.
std::optional<double> to_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) return std::nullopt;
  return value;
}

std::string cell_place(std::size_t line, std::size_t column) {
  return "line " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

Result<void> split_row(std::string_view row, std::size_t line,
                       std::vector<std::string_view>& cells) {
  cells.clear();
  for (bool more = true; more;) {
    std::string_view cell;
    std::size_t end = 0;
    row = row.substr(std::min(row.find_first_not_of(" \t"), row.size()));
    if (row.starts_with('"')) {
      const std::size_t quote = row.find('"', 1);
      if (quote == std::string_view::npos) {
        return corrupt(cell_place(line, cells.size()) + ": quote without an end");
      }
      cell = row.substr(1, quote - 1);
      row = row.substr(quote + 1);
      end = row.find(',');
      if (!trimmed(row.substr(0, end)).empty()) {
        return corrupt(cell_place(line, cells.size()) + ": text after a closing quote");
      }
    } else {
      end = row.find(',');
      cell = trimmed(row.substr(0, end));
    }
    if (cells.size() == kMostColumns) {
      return corrupt("line " + std::to_string(line) + ": more than " +
                     std::to_string(kMostColumns) + " columns");
    }
    cells.push_back(cell);
    more = end != std::string_view::npos;
    if (more) row = row.substr(end + 1);
  }
  return {};
}

// The column that a header calls by one of the label names, the earlier name first.
std::optional<std::size_t> label_column(const std::vector<std::string_view>& cells) {
  const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); };
  for (const std::string_view name : kLabelNames) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (std::equal(cells[i].begin(), cells[i].end(), name.begin(), name.end(), same)) return i;
    }
  }
  return std::nullopt;
}

// A first line of names: one of them means the label, or a feature is no number.
bool is_header(const std::vector<std::string_view>& cells) {
  return label_column(cells).has_value() ||
         std::any_of(cells.begin(), cells.end() - 1,
                     [](std::string_view cell) { return !to_number(cell); });
}

/// Every row's label is the id of its text.
void set_labels(const LabelTexts& labels, const std::vector<std::int32_t>& ids, Dataset& data) {
  data.labels.reserve(labels.rows.size());
  for (const std::uint32_t text : labels.rows) data.labels.push_back(ids[text]);
}

Result<void> number_labels(const LabelTexts& labels, Dataset& data) {
  std::vector<std::int32_t> ids;
  for (const LabelTexts::Text& one : labels.texts) {
    auto label = to_label(*to_number(one.text));
    if (!label) return at("line " + std::to_string(one.line), label.error());
    ids.push_back(*label);
  }
  set_labels(labels, ids, data);
  data.classes = count_classes(data.labels);
  return {};
}

Result<void> name_labels(const LabelTexts& labels, Dataset& data) {
  for (const LabelTexts::Text& one : labels.texts) {
    if (one.text.empty()) return corrupt("line " + std::to_string(one.line) + ": empty label");
    if (one.text.size() > kLongestLabel) {
      return corrupt("line " + std::to_string(one.line) + ": a label of more than " +
                     std::to_string(kLongestLabel) + " characters");
    }
  }
  std::vector<std::int32_t> ids(labels.texts.size());
  for (const auto& [name, text] : labels.numbers) {
    ids[text] = data.classes++;
    data.class_names.emplace_back(name);
  }
  set_labels(labels, ids, data);
  return {};
}

class CsvParser {
 public:
  Result<Dataset> parse(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view row = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (row.ends_with('\r')) row.remove_suffix(1);
      if (!trimmed(row).empty()) SOTTO_CHECK(take_row(row, line));
    }
    if (labels_.rows.empty()) return corrupt("no rows of data");
    Dataset data;
    data.shape.width = static_cast<std::uint32_t>(columns_ - 1);
    data.values = std::move(features_);
    const bool numbers = std::ranges::all_of(
        labels_.texts, [](const LabelTexts::Text& one) { return to_number(one.text).has_value(); });
    SOTTO_CHECK(numbers ? number_labels(labels_, data) : name_labels(labels_, data));
    return data;
  }

 private:
  Result<void> take_row(std::string_view row, std::size_t line) {
    SOTTO_CHECK(split_row(row, line, cells_));
    if (columns_ == 0) {
      columns_ = cells_.size();
      if (columns_ < 2) {
        return corrupt("line " + std::to_string(line) +
                       ": one column, expected features and a label separated by commas");
      }
      label_ = label_column(cells_).value_or(columns_ - 1);
      if (is_header(cells_)) return {};
    }
    if (cells_.size() != columns_) {
      return corrupt("line " + std::to_string(line) + ": " + std::to_string(cells_.size()) +
                     " columns, expected " + std::to_string(columns_));
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      if (i == label_) continue;
      const auto value = to_number(cells_[i]);
      if (!value) {
        return corrupt(cell_place(line, i) + ": '" + printable(cells_[i]) +
                       "' is not a finite number");
      }
      features_.push_back(static_cast<float>(*value));
    }
    return take_label(cells_[label_], line);
  }

  Result<void> take_label(std::string_view text, std::size_t line) {
    const auto next = static_cast<std::uint32_t>(labels_.texts.size());
    const auto [entry, fresh] = labels_.numbers.try_emplace(text, next);
    if (fresh) labels_.texts.push_back({text, line});
    if (labels_.texts.size() > kMostClasses) {
      return corrupt("line " + std::to_string(line) + ": more than " +
                     std::to_string(kMostClasses) + " different labels");
    }
    labels_.rows.push_back(entry->second);
    return {};
  }

  std::size_t columns_ = 0;
  std::size_t label_ = 0;
  std::vector<std::string_view> cells_;
  std::vector<float> features_;
  LabelTexts labels_;
};

}  // namespace

Result<Dataset> parse_csv(std::string_view text) { return CsvParser().parse(text); }

Result<Dataset> read_csv(const std::filesystem::path& file) {
  return parse_file(file, [](ByteSpan bytes) { return parse_csv(as_text(bytes)); });
}

}  // namespace sotto
