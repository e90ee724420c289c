#include "experiment/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/machine.h"

namespace sotto {
namespace {

/// The claim with the larger epsilon of two: what holds for both.
void keep_worse(std::optional<Claim>& kept, const Claim* claim) {
  if (claim == nullptr) return;
  if (!kept || claim->epsilon > kept->epsilon) kept = *claim;
}

/// The first of this kind: whatever the adversary is given, the one who is given most.
const Claim* find_claim(const RunRecord& run, Status status,
                        const std::optional<Unit>& unit = std::nullopt) {
  const auto found = std::ranges::find_if(run.claims, [&](const Claim& claim) {
    return claim.status == status && (!unit || claim.scope.unit == *unit);
  });
  return found == run.claims.end() ? nullptr : &*found;
}

/// The strongest about a client whose reports are seen: composition has several forms.
const Claim* strongest_local(const RunRecord& run) {
  const Claim* best = nullptr;
  for (const Claim& claim : run.claims) {
    if (!claim.proves({.unit = Unit::kClient, .period = Period::kTraining})) continue;
    if (best == nullptr || claim.epsilon < best->epsilon) best = &claim;
  }
  return best;
}

void add_run(Finding& finding, RunRecord record) {
  finding.mechanism = record.mechanism;
  finding.seconds += record.total_seconds();
  const auto proven = [&](Unit unit) { return find_claim(record, Status::kProven, unit); };
  keep_worse(finding.unit, proven(Unit::kWeight));
  const Claim* const one = proven(Unit::kRecord);
  keep_worse(finding.record, one != nullptr ? one : proven(Unit::kEncodedRecord));
  keep_worse(finding.features, proven(Unit::kRecordFeatures));
  keep_worse(finding.published, find_claim(record, Status::kPublished));
  keep_worse(finding.local, strongest_local(record));
  keep_worse(finding.client, record.client_claim());
  finding.runs.push_back(std::move(record));
}

std::vector<Vary> axes_of(const Study& study) {
  std::vector<Vary> axes;
  for (const Configuration& configuration : study.configurations) {
    for (const auto& [key, value] : configuration.varied) {
      auto axis = std::find_if(axes.begin(), axes.end(),
                               [&name = key](const Vary& vary) { return vary.key == name; });
      if (axis == axes.end()) axis = axes.insert(axes.end(), Vary{key, {}});
      if (std::find(axis->values.begin(), axis->values.end(), value) == axis->values.end()) {
        axis->values.push_back(value);
      }
    }
  }
  return axes;
}

}  // namespace

Statistic statistic_of(const std::vector<double>& values) {
  Statistic statistic;
  statistic.count = values.size();
  if (values.empty()) return statistic;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) statistic.mean += value / count;
  double squares = 0.0;
  for (const double value : values) squares += std::pow(value - statistic.mean, 2);
  if (values.size() > 1) statistic.deviation = std::sqrt(squares / (count - 1.0));
  return statistic;
}

std::string accuracy_text(const Statistic& statistic) {
  if (statistic.count > 1) {
    return fmt::format("{:.2f} \u00b1 {:.2f} %", 100.0 * statistic.mean,
                       100.0 * statistic.deviation);
  }
  return fmt::format("{:.2f} %", 100.0 * statistic.mean);
}

std::string today() { return utc_now("%Y-%m-%d"); }

bool Summary::complete() const {
  return std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.failed.empty() && finding.absent == 0 && finding.accuracy.has_value();
  });
}

Result<Summary> summarize(const Study& study, const std::vector<StudyRun>& runs,
                          const std::vector<RunOutcome>& outcomes) {
  Summary summary;
  summary.study = &study;
  summary.axes = axes_of(study);
  summary.date = today();
  for (const Configuration& configuration : study.configurations) {
    summary.findings.emplace_back().configuration = &configuration;
  }
  std::vector<std::string> machines;
  std::vector<std::vector<double>> accuracies(study.configurations.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Finding& finding = summary.findings[runs[i].configuration];
    if (!outcomes[i].finished && outcomes[i].why.empty()) {
      ++finding.absent;
      continue;
    }
    if (!outcomes[i].finished) {
      finding.failed.emplace_back(runs[i].name, outcomes[i].why);
      continue;
    }
    SOTTO_TRY(RunRecord record, read_run(runs[i].out));
    const std::optional<Outcome>& outcome = study.statistic == "best" ? record.best : record.final;
    if (outcome && outcome->accuracy) {
      accuracies[runs[i].configuration].push_back(*outcome->accuracy);
    } else {
      finding.failed.emplace_back(runs[i].name, "was never evaluated");
    }
    if (!record.machine.empty() &&
        std::find(machines.begin(), machines.end(), record.machine) == machines.end()) {
      machines.push_back(record.machine);
    }
    add_run(finding, std::move(record));
  }
  summary.machine =
      machines.empty() ? machine_text() : fmt::format("{}", fmt::join(machines, "; "));
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    Finding& finding = summary.findings[i];
    if (!accuracies[i].empty()) finding.accuracy = statistic_of(accuracies[i]);
    summary.seconds += finding.seconds;
  }
  return summary;
}

}  // namespace sotto
