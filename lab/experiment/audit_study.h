// Experiments that audit: rows say which adversary attacks which mechanism, on which data and
// model, and the papers' figures are measured epsilons (or seconds, where the figure is "cost").
//
// A row's `set` and `vary` are written as the options of `sotto audit` are: "adversary=dummy",
// "train-rounds=200". Rows that differ in epsilon alone share their crafted gradients, rows with
// the same model share its training. A label "CIFAR-10: benign" is the curve "benign" of the
// picture "CIFAR-10".
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "adversary/scene.h"
#include "adversary/vector_finding.h"
#include "experiment/registry.h"
#include "experiment/sweep_grid.h"
#include "report/chart.h"

namespace sotto {

/// What one audit is made of.
struct AuditSettings {
  std::string mechanism = "ldp-sgd";
  Parameters parameters;  // of the mechanism: epsilon, norm, ...
  std::string adversary = "dummy";
  SceneRequest scene;  // scene.data empty: no model, `dimension` coordinates
  std::size_t dimension = 20490;
  double dummy_norm = 1.0;  // in units of L
  std::uint64_t trials = 1000;
  std::uint64_t measurements = 10;
  double confidence = 0.95;
  Distinguisher distinguisher = Distinguisher::kCosine;  // the papers'
};

/// An error names the key that does not exist with the nearest that does, or the value's interval.
Result<void> apply_setting(AuditSettings& settings, const std::string& text);

struct AuditRow {
  std::string label;
  Combination varied;
  std::string note;
  std::optional<PaperFigure> paper;
  AuditSettings settings;
  // Found:
  VectorFinding finding;
  VectorFinding other;  // by the other distinguisher, from the same reports
  Similarities similarities;
  std::size_t dimension = 0;
  std::optional<double> model_accuracy;
  std::uint64_t trials = 0;
  double seconds = 0.0;  // of its group's trials, shared evenly; training is not counted
};

struct AuditStudyOptions {
  std::filesystem::path data_folder;
  FactoryMaker make_factory;
  unsigned threads = 1;
  bool quick = false;
  /// What is done, how many trials of how many.
  std::function<void(const std::string&, std::uint64_t, std::uint64_t)> progress;
};

Result<std::vector<AuditRow>> audit_rows(const Experiment& experiment, bool quick);
/// The first data set of the rows that is not on this machine; empty: all are.
std::string missing_data(const std::vector<AuditRow>& rows, const std::filesystem::path& folder);
Result<void> run_audit_rows(std::vector<AuditRow>& rows, const AuditStudyOptions& options);

nlohmann::ordered_json audit_json(const Experiment& experiment, const std::vector<AuditRow>& rows,
                                  bool quick);
std::string audit_csv(const std::vector<AuditRow>& rows);
/// One for each picture that the labels name; `seconds` instead of epsilon where the figure is
/// "cost".
std::vector<LineChart> audit_charts(const Experiment& experiment,
                                    const std::vector<AuditRow>& rows);
/// Cosines with the first gradient, for the least and the largest epsilon of every label.
std::vector<Histogram> audit_histograms(const std::vector<AuditRow>& rows);

}  // namespace sotto
