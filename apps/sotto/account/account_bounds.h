// What the single questions of `sotto account` share: numbers on the command line that say what is
// valid, bounds as a table and as JSON, and bounds as a chart.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "sotto/account.h"

namespace sotto::cli {

/// An option whose value lies in the interval of `info`; a whole number may be written as 1e6.
CLI::Option* add_number(CLI::App& command, const ParameterInfo& info, std::optional<double>& value);
/// Options that are the same in all questions.
CLI::Option* add_delta(CLI::App& command, std::optional<double>& delta);
CLI::Option* add_rounds(CLI::App& command, std::optional<double>& rounds);
CLI::Option* add_clients(CLI::App& command, std::optional<double>& clients);
CLI::Option* add_sampling(CLI::App& command, std::optional<double>& sampling);
inline constexpr double kDefaultDelta = 1e-6;
inline constexpr double kMostOfAny = 1e9;      // weights, clients, rounds, compositions of one kind
inline constexpr double kMostReleases = 1e15;  // and their product

/// The number that was given, which is whole.
std::uint64_t whole(const std::optional<double>& value, std::uint64_t default_value = 1);
/// a * b, or an error that says what is too many.
Result<std::uint64_t> product(std::uint64_t a, std::uint64_t b, std::string_view what);

/// Infinity has no JSON number: null stands for it, and for nothing.
nlohmann::ordered_json number_json(const std::optional<double>& value);
/// {"question": ..., "bounds": [...], "best": ..., "best_epsilon": ...}
nlohmann::ordered_json bounds_json(nlohmann::ordered_json question,
                                   const std::vector<Bound>& bounds);
/// A line for each bound, then what the valid ones rest on.
void print_bounds(const std::vector<Bound>& bounds);
/// "12.5", or "51.2 (vacuous)".
std::string judged_epsilon(double epsilon);

/// Answers at sizes from `low` to `high`, spaced by equal factors, as one line for each bound.
struct BoundsChart {
  std::string title;
  std::string x_label;
  std::uint64_t low = 1;
  std::uint64_t high = 1;
  std::function<Result<std::vector<Bound>>(std::uint64_t)> answer;
};
Result<void> write_chart(const BoundsChart& chart, const std::string& file);

}  // namespace sotto::cli
