// What a run left behind: the content of its run.json and metrics.jsonl, checked.
//
// run_json.h writes run.json in the newest format, and every format that was written is read here.
//
// A record is read strictly, because people compare numbers by it: a missing key, a wrong type or a
// value that cannot be is an error with file, line and key, never a default. The one exception is a
// last line of metrics.jsonl that a crash cut off; it is left out with a note. Keys that this
// version does not know are passed over, so that a newer run can still be shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/run_status.h"
#include "sotto/claims.h"
#include "sotto/result.h"

namespace sotto {

inline constexpr std::string_view kRunFormat = "sotto.run.v2";
/// Its claims have texts and no types.
inline constexpr std::string_view kOlderRunFormat = "sotto.run.v1";

struct RecordedRound {
  std::uint64_t round = 0;
  std::uint64_t clients = 0;
  std::uint64_t refused = 0;  // clients without budget
  std::uint64_t reports = 0;
  std::uint64_t released = 0;      // reports that the server was given
  std::optional<double> accuracy;  // unset in rounds that were not evaluated
  std::optional<double> loss;
  double round_seconds = 0.0;
  double train_seconds = 0.0;
  double evaluate_seconds = 0.0;
  std::uint64_t bytes_up = 0;
};

struct Outcome {
  std::uint64_t round = 0;
  std::optional<double> accuracy;
  std::optional<double> loss;
};

/// Keys with values as text, in the order of the file.
using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct RecipeSection {
  std::string name;
  TextPairs entries;
};

struct RunRecord {
  std::filesystem::path folder;
  std::string name;
  std::string recipe_file;
  std::vector<RecipeSection> recipe;
  std::uint64_t seed = 0;
  std::uint64_t threads = 0;
  TextPairs versions;
  std::string started;
  RunStatus status = RunStatus::kRunning;
  std::optional<std::string> stopped;  // rounds, patience, budget

  std::string model;
  std::uint64_t parameters = 0;
  std::string device;
  std::string machine;  // empty in records of earlier versions

  std::string data;
  std::uint64_t train_samples = 0;
  std::uint64_t test_samples = 0;
  std::uint64_t clients = 0;
  std::string partition;

  std::vector<std::pair<std::string, double>> timings;  // "total_seconds", ...
  std::optional<Outcome> final;
  std::optional<Outcome> best;
  std::string mechanism;
  std::vector<Claim> claims;
  bool planned_claims = false;  // of a run that has not finished: they hold if it goes as planned
  std::string coins;            // whose random bits; empty in records of earlier versions
  bool protects = false;        // whether the coins were the clients' own
  std::vector<RecordedRound> rounds;
  std::vector<std::string> notes;  // what reading had to pass over

  /// The strongest claim about a client over the whole training with the server as the adversary
  /// (after the shuffler, where there was one), or none. A claim about one round only, or one that
  /// others made, would flatter the run.
  const Claim* client_claim() const { return sotto::client_claim(claims); }
  /// timings["total_seconds"], or the sum over rounds where the run did not get to write it.
  double total_seconds() const;
  std::uint64_t bytes_up() const;
};

Result<RunRecord> read_run(const std::filesystem::path& folder);

}  // namespace sotto
