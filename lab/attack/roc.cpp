#include "attack/roc.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::size_t kCurvePoints = 240;
constexpr double kConfidence = 0.95;

/// Walks down the thresholds; decisions with equal scores fall together. `weight` of a decision is
/// how often it counts; `visit(false positives, true positives)` sees each corner of the curve.
template <class Weight, class Visit>
void walk(std::span<const Decision> sorted, Weight&& weight, Visit&& visit) {
  double found = 0.0;
  double accused = 0.0;
  visit(accused, found);
  for (std::size_t i = 0; i < sorted.size();) {
    const double score = sorted[i].score;
    for (; i < sorted.size() && sorted[i].score == score; ++i) {
      (sorted[i].member ? found : accused) += weight(sorted[i]);
    }
    visit(accused, found);
  }
}

struct Summary {
  double auc = 0.5;
  double tpr = 0.0;
};

template <class Weight>
Summary summarize(std::span<const Decision> sorted, Weight&& weight, double limit) {
  double members = 0.0;
  double others = 0.0;
  for (const Decision& decision : sorted) {
    (decision.member ? members : others) += weight(decision);
  }
  if (members <= 0.0 || others <= 0.0) return {};
  Summary summary{0.0, 0.0};
  double last_accused = 0.0;
  double last_found = 0.0;
  walk(sorted, weight, [&](double accused, double found) {
    summary.auc += (accused - last_accused) * (found + last_found) / 2.0;
    if (accused <= limit * others) summary.tpr = found / members;
    last_accused = accused;
    last_found = found;
  });
  summary.auc /= members * others;
  return summary;
}

std::vector<double> drawn_counts(std::size_t size, BitSource& bits) {
  std::vector<double> counts(size, 0.0);
  for (std::size_t i = 0; i < size; ++i) counts[bits.below(size)] += 1.0;
  return counts;
}

Interval percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double tail = (1.0 - kConfidence) / 2.0;
  const auto last = static_cast<double>(values.size() - 1);
  return {values[static_cast<std::size_t>(std::floor(tail * last))],
          values[static_cast<std::size_t>(std::ceil((1.0 - tail) * last))]};
}

/// Points at equal distances on a logarithmic axis, and as many on a linear one: neither end of the
/// picture lacks detail.
std::vector<std::pair<double, double>> thinned(
    const std::vector<std::pair<double, double>>& curve) {
  if (curve.size() <= kCurvePoints) return curve;
  std::vector<std::pair<double, double>> kept;
  double next = 0.0;
  for (const auto& point : curve) {
    if (point.first < next && point != curve.back()) {
      // The highest point of a vertical stretch stands for it, beside the corner at the origin.
      if (kept.size() == 1) {
        kept.push_back(point);
      } else if (kept.back().first == point.first) {
        kept.back() = point;
      }
      continue;
    }
    kept.push_back(point);
    next = std::min(std::max(point.first * 1.06, 1e-9), point.first + 0.01);
  }
  return kept;
}

}  // namespace

Roc receiver_operating(std::vector<Decision> decisions, const RocOptions& options) {
  std::sort(decisions.begin(), decisions.end(),
            [](const Decision& a, const Decision& b) { return a.score > b.score; });
  Roc roc;
  roc.limit = options.limit;
  std::size_t samples = 0;
  std::size_t runs = 0;
  for (const Decision& decision : decisions) {
    ++(decision.member ? roc.members : roc.others);
    samples = std::max<std::size_t>(samples, decision.sample + std::size_t{1});
    runs = std::max<std::size_t>(runs, decision.run + std::size_t{1});
  }
  if (roc.members == 0 || roc.others == 0) return roc;
  const auto once = [](const Decision&) { return 1.0; };
  const Summary summary = summarize(decisions, once, options.limit);
  roc.auc = summary.auc;
  roc.tpr = summary.tpr;
  std::vector<std::pair<double, double>> curve;
  walk(decisions, once, [&](double accused, double found) {
    curve.emplace_back(accused / static_cast<double>(roc.others),
                       found / static_cast<double>(roc.members));
  });
  roc.curve = thinned(curve);
  if (options.replicates == 0) return roc;

  std::vector<double> aucs(options.replicates);
  std::vector<double> tprs(options.replicates);
  const auto drawn = [&](unsigned, std::size_t i) -> Result<void> {
    BitSource bits = BitSource::from_seed(options.seed, "attack.bootstrap", {i});
    const std::vector<double> by_sample = drawn_counts(samples, bits);
    const std::vector<double> by_run = drawn_counts(runs, bits);
    const Summary one = summarize(
        decisions,
        [&](const Decision& decision) { return by_sample[decision.sample] * by_run[decision.run]; },
        options.limit);
    aucs[i] = one.auc;
    tprs[i] = one.tpr;
    return {};
  };
  (void)parallel_for(options.threads, options.replicates, drawn);
  roc.auc_interval = percentiles(std::move(aucs));
  roc.tpr_interval = percentiles(std::move(tprs));
  return roc;
}

}  // namespace sotto
