// The weight-inference attack inside a federated run, as a command shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace sotto::cli {

struct WatchArguments {
  std::string recipe;  // empty: the attack on numbers
  std::vector<std::string> settings;
  std::string data;
  std::string tensor;
  std::size_t weights = 100;
  std::optional<std::uint64_t> rounds;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  std::string out;
  bool json = false;
};

/// RECIPE and its options, and those that both forms of the attack share: --seed, --threads, --out,
/// --json.
void add_watch_options(CLI::App& command, WatchArguments& arguments);

/// Trains as the recipe says and attacks what each round releases.
Result<int> attack_run(const WatchArguments& arguments);

}  // namespace sotto::cli
