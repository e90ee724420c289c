// An experiment that is an attack on numbers: each row infers a weight from the reports of clients
// and rounds as its recipe's keys say; papers' figures are errors as shares of the domain.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attack/weight_inference.h"
#include "experiment/registry.h"
#include "experiment/sweep_grid.h"
#include "report/chart.h"

namespace sotto {

struct AttackRow {
  std::string series;
  std::string label;
  Combination varied;
  WeightAttack attack;
  WeightInference found;
  std::optional<PaperFigure> paper;
  double seconds = 0.0;

  /// What the paper's figure stands beside: with a tolerance the error against what clients held in
  /// the last round, as the authors' notebook has it; where values scatter, the error against w.
  const Estimate& compared() const {
    const WeightFinding& last = found.last();
    if (attack.tolerance > 0.0) return last.error_to_round;
    return attack.deviation > 0.0 ? last.error_to_weight : last.error;
  }
  double compared_theory() const {
    if (attack.tolerance > 0.0) return found.theory.error_to_round;
    return attack.deviation > 0.0 ? found.theory.error_to_weight : found.theory.error;
  }
};

struct AttackStudyOptions {
  bool quick = false;
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

Result<std::vector<AttackRow>> measure_weight_inference(const Experiment& experiment,
                                                        const AttackStudyOptions& options,
                                                        const AttackProgress& progress);

nlohmann::ordered_json attack_json(const Experiment& experiment, const std::vector<AttackRow>& rows,
                                   const AttackStudyOptions& options);
std::string attack_csv(const std::vector<AttackRow>& rows);
/// Error by epsilon, by number of clients, by rounds, by size of the domain and by scatter;
/// confidence by rounds and by scatter.
std::vector<LineChart> attack_charts(const Experiment& experiment,
                                     const std::vector<AttackRow>& rows);

}  // namespace sotto
