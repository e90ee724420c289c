#include "mechanism/staircase/srr_tune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/text.h"
#include "mechanism/staircase/srr_groups.h"
#include "mechanism/value/distance_ranks.h"

namespace sotto {
namespace {

/// Sums over the first `end` ranks, averaged over the inputs.
struct MeanSums {
  double second;
  double absolute;
};

MeanSums mean_sums(std::int64_t end, const SrrInputs& inputs, std::int64_t radius) {
  const std::int64_t one_sided = end / 2;  // inputs with S below this have run out of one side
  const double weight = inputs.weight_below(one_sided);
  const double first = inputs.first_below(one_sided);
  const double second = inputs.second_below(one_sided);
  const double both = inputs.weight_below(radius + 1) - weight;
  const RankSums two_sided = sums_before(end, {end, 0});  // a radius that never runs out
  const auto n = static_cast<double>(end - 1);
  return {
      both * two_sided.second + squares_to(n) * weight - n * (n + 1.0) * first + (n + 1.0) * second,
      both * two_sided.absolute + sum_to(n) * weight - n * first + second};
}

/// The mean square and mean magnitude of the error in grid steps, for given group sizes.
MeanSums mean_errors(std::span<const std::int64_t> sizes, double epsilon, const SrrInputs& inputs,
                     std::int64_t radius) {
  const double fall =
      sizes.size() == 1 ? 0.0 : -std::expm1(-epsilon) / static_cast<double>(sizes.size() - 1);
  MeanSums sum{0.0, 0.0}, before{0.0, 0.0};
  double total = 0.0;
  std::int64_t end = 0;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    const double height = 1.0 - static_cast<double>(j) * fall;  // a_j / a_1
    end += sizes[j];
    const MeanSums after = mean_sums(end, inputs, radius);
    sum.second += height * (after.second - before.second);
    sum.absolute += height * (after.absolute - before.absolute);
    total += height * static_cast<double>(sizes[j]);
    before = after;
  }
  return {sum.second / total, sum.absolute / total};
}

struct Candidate {
  SrrSetting setting;
  double square = std::numeric_limits<double>::infinity();
};

/// Searches the steps of one m.
class StepSearch {
 public:
  StepSearch(const DecimalGrid& grid, double epsilon, const SrrInputs& inputs, std::int64_t groups)
      : grid_(grid), epsilon_(epsilon), inputs_(inputs), groups_(groups) {}

  Candidate best() {
    const StepInterval interval = step_interval(grid_.size(), groups_);
    row(interval.low, interval.high, 33);
    double reach = (interval.high - interval.low) / 32.0;
    for (int level = 0; level < 10 && reach > 0.25; ++level) {
      const double around = best_.setting.step;
      row(std::max(interval.low, around - reach), std::min(interval.high, around + reach), 9);
      reach /= 4.0;
    }
    // A whole step, where one is as good.
    const double found = best_.setting.step;
    for (const double whole : {std::round(found), std::floor(found), std::ceil(found)}) {
      const Candidate candidate = evaluate(whole);
      if (candidate.square <= best_.square * (1.0 + 1e-12)) {
        best_ = candidate;
        break;
      }
    }
    return best_;
  }

 private:
  Candidate evaluate(double step) const {
    Candidate candidate{{groups_, step}};
    if (const auto sizes = group_sizes(grid_.size(), groups_, step)) {
      candidate.square = mean_errors(*sizes, epsilon_, inputs_, grid_.radius()).second;
    }
    return candidate;
  }
  void row(double low, double high, int count) {
    for (int i = 0; i < count; ++i) {
      const double share = static_cast<double>(i) / (count - 1);
      const Candidate candidate = evaluate(low + (high - low) * share);
      if (candidate.square < best_.square) best_ = candidate;
    }
  }

  const DecimalGrid& grid_;
  double epsilon_;
  const SrrInputs& inputs_;
  std::int64_t groups_;
  Candidate best_;
};

std::vector<std::int64_t> group_counts(std::int64_t outputs) {
  constexpr std::int64_t kEvery = 64;
  constexpr std::int64_t kMost = 1024;
  std::vector<std::int64_t> counts;
  for (std::int64_t m = 2; m <= std::min(outputs, kMost); m += m < kEvery ? 1 : m / 4) {
    counts.push_back(m);
  }
  return counts;
}

std::size_t place(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

SrrInputs::SrrInputs(std::span<const double> weights) {
  double total = 0.0;
  for (const double weight : weights) total += weight;
  Sums sums{0.0, 0.0, 0.0};
  sums_.push_back(sums);
  for (std::size_t s = 0; s < weights.size(); ++s) {
    const double weight = weights[s] / total;
    const auto shorter = static_cast<double>(s);
    sums.weight += weight;
    sums.first += weight * shorter;
    sums.second += weight * shorter * shorter;
    sums_.push_back(sums);
  }
}

SrrInputs SrrInputs::worst_case(const DecimalGrid& grid) {
  std::vector<double> weights(place(grid.radius()) + 1, 0.0);
  weights[0] = 1.0;
  return SrrInputs(weights);
}

SrrInputs SrrInputs::uniform(const DecimalGrid& grid) {
  std::vector<double> weights(place(grid.radius()) + 1, 2.0);
  weights.back() = 1.0;  // the centre is one input, every other S are two
  return SrrInputs(weights);
}

SrrInputs SrrInputs::normal(const DecimalGrid& grid, double deviation) {
  const double scale = 1.0 / (deviation * grid.scale() * std::numbers::sqrt2);
  std::vector<double> weights(place(grid.radius()) + 1);
  for (std::int64_t a = 0; a <= grid.radius(); ++a) {  // |s|
    const double from = a == 0 ? 0.0 : std::erfc((static_cast<double>(a) - 0.5) * scale);
    const double to = a == grid.radius() ? 0.0 : std::erfc((static_cast<double>(a) + 0.5) * scale);
    weights[place(grid.radius() - a)] = (a == 0 ? 1.0 : from) - to;
  }
  return SrrInputs(weights);
}

SrrInputs SrrInputs::values(const DecimalGrid& grid, std::span<const float> values) {
  std::vector<double> weights(place(grid.radius()) + 1, 0.0);
  for (const float value : values) {
    const std::int64_t s = std::isfinite(value) ? grid.centred(value) : 0;
    weights[place(grid.radius() - std::abs(s))] += 1.0;
  }
  return SrrInputs(weights);
}

SrrSetting best_two_groups(std::int64_t outputs, double epsilon) {
  if (outputs == 1) return {1, 0.0};
  // f(g) = N / D, N = Q(g) + q (Q(d) - Q(g)), D = g + q (d - g), with q = e^-eps and Q the sum of
  // squared ranks below: the error at an end. A further rank g adds (1-q) g^2 to N and (1-q) to D,
  // so it helps exactly while g^2 < f(g); as N is convex and D linear, that turns once.
  const double q = std::exp(-epsilon);
  const auto error = [&](std::int64_t g) {
    const auto size = static_cast<double>(g);
    const auto d = static_cast<double>(outputs);
    return ((1.0 - q) * squares_to(size - 1.0) + q * squares_to(d - 1.0)) /
           ((1.0 - q) * size + q * d);
  };
  std::int64_t low = 1, high = outputs - 1;
  while (low < high) {
    const std::int64_t g = low + (high - low) / 2;
    const auto size = static_cast<double>(g);
    if (size * size < error(g)) {
      low = g + 1;
    } else {
      high = g;
    }
  }
  return {2, static_cast<double>(outputs - 2 * low)};
}

Result<SrrQuality> srr_quality(const DecimalGrid& grid, double epsilon, const SrrSetting& setting,
                               const SrrInputs& inputs) {
  const auto sizes = setting.groups <= grid.size()
                         ? group_sizes(grid.size(), setting.groups, setting.step)
                         : std::nullopt;
  if (!sizes) {
    return fail(ErrorKind::kUsage, "no staircase of " + std::to_string(setting.groups) +
                                       " groups with the step " + short_number(setting.step) +
                                       " on " + std::to_string(grid.size()) + " grid values");
  }
  const double unit = grid.step();
  const auto over = [&](const SrrInputs& chosen) {
    return mean_errors(*sizes, epsilon, chosen, grid.radius());
  };
  std::vector<float> centre{static_cast<float>(grid.value(0))};
  const MeanSums worst = over(SrrInputs::worst_case(grid));
  SrrQuality quality;
  quality.setting = setting;
  quality.mse = over(inputs).second * unit * unit;
  quality.rmse = std::sqrt(quality.mse);
  quality.worst_mse = worst.second * unit * unit;
  quality.centre_mse = over(SrrInputs::values(grid, centre)).second * unit * unit;
  quality.worst_l1 = worst.absolute * unit;
  const auto radius = static_cast<double>(grid.radius());
  quality.edge_mean = grid.radius() == 0 ? 0.0 : 1.0 - worst.absolute / radius;
  quality.l1_within_radius = worst.absolute <= radius * (1.0 + 1e-12);
  return quality;
}

SrrQuality tune_srr(const DecimalGrid& grid, double epsilon, const SrrInputs& inputs,
                    const std::function<void(std::size_t, std::size_t)>& progress) {
  Candidate best;  // one group, if there is nothing to divide
  const std::vector<std::int64_t> counts = group_counts(grid.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Candidate candidate = StepSearch(grid, epsilon, inputs, counts[i]).best();
    // Fewer groups where more are not clearly better.
    if (candidate.square < best.square * (1.0 - 1e-9)) best = candidate;
    if (progress) progress(i + 1, counts.size());
  }
  const SrrSetting two = best_two_groups(grid.size(), epsilon);
  auto quality = srr_quality(grid, epsilon, best.setting, inputs).value();
  const auto of_two = srr_quality(grid, epsilon, two, inputs).value();
  return of_two.mse <= quality.mse ? of_two : quality;
}

}  // namespace sotto
