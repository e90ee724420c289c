// One experiment of a paper, from its entry in the registry to its files and its table.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiment/registry.h"

namespace sotto::cli {

struct ReproduceOptions {
  std::filesystem::path out;  // empty: reproduce/NAME, or reproduce/NAME-quick
  std::filesystem::path data;
  std::optional<std::int64_t> seeds;
  std::string device;
  std::string only;  // rows whose label has this in it
  unsigned jobs = 0;
  unsigned threads = 0;
  bool quick = false;
  bool quiet = false;  // nothing on stdout while it runs
};

struct Reproduced {
  nlohmann::ordered_json json;  // results.json, with "out"
  std::string table;            // for the terminal
  std::string markdown;         // for docs/results.md
  std::string failures;         // empty: every run finished
};

std::filesystem::path folder_of(const Experiment& experiment, const ReproduceOptions& options);

/// Runs what is missing, writes results.json, results.csv, figure.svg (and report.html, curves.svg
/// where there were runs). An error of kind kNotFound: its data are not on this machine.
Result<Reproduced> reproduce(const Experiment& experiment, const ReproduceOptions& options);

/// The table of a measurement, for the terminal and for docs; `facts` say when, where and how long.
Reproduced measured_table(const Experiment& experiment, const ReproduceOptions& options,
                          const std::string& facts, const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows);

}  // namespace sotto::cli
