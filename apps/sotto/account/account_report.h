// How the questions of `sotto account` say what a client sends in a round: weights of some epsilon0
// that travel in chunks, or a mechanism, whose own distributions are known in more detail than
// epsilon0.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "mechanism_options.h"
#include "sotto/mechanism.h"

namespace sotto::cli {

struct ReportOptions {
  std::optional<double> epsilon0;
  std::optional<double> weights;
  std::optional<double> split;
  MechanismOptions mechanism;  // without a name: epsilon0 is all that is known

  bool has_mechanism() const { return !mechanism.name.empty(); }
  /// --epsilon0, or what the mechanism was given as --epsilon.
  std::optional<double> given_epsilon() const;
  /// What contradicts itself is an error: options that speak of different kinds of reports.
  Result<void> check() const;
  /// Of so many weights that travel together, with this value for --epsilon where it is given.
  /// Vectors and bits are one report: as one weight.
  Result<Background> background(std::optional<double> epsilon, std::uint64_t count) const;
  /// null, or {"name": ..., "parameters": {...}}
  nlohmann::ordered_json mechanism_json() const;
};

void add_report_options(CLI::App& command, ReportOptions& options);

}  // namespace sotto::cli
