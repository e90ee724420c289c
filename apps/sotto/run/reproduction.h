// One experiment of a paper, from its entry in the registry to its files and its table.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiment/registry.h"
#include "sotto/ranks.h"

namespace sotto::cli {

struct ReproduceOptions {
  std::filesystem::path out;                 // empty: root/NAME, or root/NAME-quick
  std::filesystem::path root = "reproduce";  // of several experiments
  std::filesystem::path data;
  std::optional<std::int64_t> seeds;
  std::string device;
  std::string only;  // rows of this label; where there are none, rows whose label has this in it
  unsigned jobs = 0;
  unsigned threads = 0;
  bool quick = false;
  bool show = false;                  // what is there, and start nothing
  bool quiet = false;                 // nothing on stdout while it runs
  std::shared_ptr<Ranks> ranks = {};  // of a job: each is given whole runs
};

struct Reproduced {
  nlohmann::ordered_json json;  // results.json, with "out"
  std::string table;            // for the terminal
  std::string markdown;         // for docs/research/results.md
  std::string failures;         // empty: every run finished
};

/// Leaves the rows called `only`, or, where none is, those whose label has it in it.
template <class Row>
Result<void> keep_only(std::vector<Row>& rows, const std::string& experiment,
                       const std::string& only, std::string Row::*name, std::string Row::*label) {
  const bool exact = std::ranges::find(rows, only, name) != rows.end();
  std::erase_if(rows, [&](const Row& row) {
    return exact ? row.*name != only : (row.*label).find(only) == std::string::npos;
  });
  if (!rows.empty()) return {};
  return fail(ErrorKind::kUsage, experiment + " has no row with '" + only + "'");
}

std::filesystem::path folder_of(const Experiment& experiment, const ReproduceOptions& options);

/// Runs what is missing, writes results.json, results.csv, figure.svg (and report.html, curves.svg
/// where there were runs). An error of kind kNotFound: its data are not on this machine.
Result<Reproduced> reproduce(const Experiment& experiment, const ReproduceOptions& options);

/// What a measurement found, without runs.
struct Measured {
  nlohmann::ordered_json json;
  std::string csv;
  std::vector<std::string> figures;  // SVG
  std::string facts;                 // when, where and how long
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;  // below the table
};

/// Its files, with a page for `sotto report`, and its table for the terminal and for docs.
Result<Reproduced> show_measured(const Experiment& experiment, const ReproduceOptions& options,
                                 const Measured& measured);

}  // namespace sotto::cli
