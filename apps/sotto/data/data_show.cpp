// `sotto data show`: how a partition deals the train samples to clients, as a table and a picture.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "data_actions.h"
#include "report/chart.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

// More would be neither a readable table nor a readable picture.
constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostColumns = 20;
constexpr std::size_t kMostPictureRows = 100;

struct Counts {
  std::vector<std::string> classes;
  std::vector<std::vector<std::uint64_t>> rows;  // one for each client
  std::vector<std::uint64_t> sizes;
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  double mean = 0.0;
};

Counts count(const Dataset& data, const Partition& parts) {
  Counts counts{.classes = class_labels(data)};
  for (std::size_t c = 0; c < parts.clients(); ++c) {
    auto& row = counts.rows.emplace_back(counts.classes.size(), 0);
    for (const std::uint32_t i : parts.client(c)) {
      ++row[static_cast<std::size_t>(data.labels[i])];
    }
    counts.sizes.push_back(parts.client(c).size());
  }
  const auto [low, high] = std::minmax_element(counts.sizes.begin(), counts.sizes.end());
  counts.smallest = *low;
  counts.largest = *high;
  counts.mean = static_cast<double>(data.size()) / static_cast<double>(parts.clients());
  return counts;
}

void print_text(const Counts& counts) {
  const std::size_t columns = std::min(counts.classes.size(), kMostColumns);
  const std::size_t rows = std::min(counts.rows.size(), kMostRows);
  std::vector<std::string> header = {"client"};
  header.insert(header.end(), counts.classes.begin(),
                counts.classes.begin() + static_cast<std::ptrdiff_t>(columns));
  if (columns < counts.classes.size()) header.emplace_back("other");
  header.emplace_back("all");
  Table table(header);
  for (std::size_t c = 0; c < rows; ++c) {
    std::vector<std::string> row = {std::to_string(c)};
    std::uint64_t other = counts.sizes[c];
    for (std::size_t k = 0; k < columns; ++k) {
      row.push_back(std::to_string(counts.rows[c][k]));
      other -= counts.rows[c][k];
    }
    if (columns < counts.classes.size()) row.push_back(std::to_string(other));
    row.push_back(std::to_string(counts.sizes[c]));
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
  if (rows < counts.rows.size()) {
    fmt::print("... and {} more clients\n", with_commas(counts.rows.size() - rows));
  }
  fmt::print("{} clients; samples: smallest {}, mean {:.1f}, largest {}\n",
             with_commas(counts.rows.size()), with_commas(counts.smallest), counts.mean,
             with_commas(counts.largest));
}

nlohmann::ordered_json to_json(const DataShowOptions& options, const Counts& counts) {
  return {{"name", options.request.source},
          {"partition", options.partition},
          {"seed", options.request.seed},
          {"clients", counts.rows.size()},
          {"sizes", {{"min", counts.smallest}, {"mean", counts.mean}, {"max", counts.largest}}},
          {"class_names", counts.classes},
          {"counts", counts.rows}};
}

std::string picture(const DataShowOptions& options, const Counts& counts) {
  const std::size_t rows = std::min(counts.rows.size(), kMostPictureRows);
  HeatMap map;
  map.title = fmt::format("{}, {}, {} clients", options.request.source, options.partition,
                          with_commas(counts.rows.size()));
  if (rows < counts.rows.size()) map.title += fmt::format(" (the first {})", rows);
  map.row_label = "client";
  map.column_label = "class";
  map.columns = counts.classes;
  for (std::size_t c = 0; c < rows; ++c) {
    map.rows.push_back(std::to_string(c));
    map.values.insert(map.values.end(), counts.rows[c].begin(), counts.rows[c].end());
  }
  return to_svg(map);
}

}  // namespace

Result<int> data_show(const DataShowOptions& options) {
  SOTTO_TRY(const DataSplit split, load_visibly(options.request));
  SOTTO_TRY(const Partition parts,
            make_partition(split.train, options.partition, options.clients, options.request.seed));
  const Counts counts = count(split.train, parts);
  if (!options.out.empty()) {
    SOTTO_CHECK(write_file_atomically(options.out, picture(options, counts)));
  }
  if (options.json) {
    fmt::print("{}\n", to_json(options, counts).dump(2));
  } else {
    print_text(counts);
    if (!options.out.empty()) fmt::print("picture: {}\n", options.out.string());
  }
  return 0;
}

}  // namespace sotto::cli
