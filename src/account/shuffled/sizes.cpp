#include "account/shuffled/sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "account/loss_builder.h"
#include "base/exact/binomial.h"
#include "base/exact/exact.h"

namespace sotto {
namespace {

/// Sizes with this probability on either side are taken to give everything away.
constexpr double kTail = 1e-18;
/// Within so many deviations of the mean, sizes are distinguished; beyond, they hardly are.
constexpr double kBulk = 4.0;

/// In deviations. A size may take long to account for.
double width_of(SizeDetail detail) { return detail == SizeDetail::kFine ? 0.25 : 1.0; }

/// m / N, never below it.
double rate_of(std::uint64_t clients, std::uint64_t population) {
  const double rate = static_cast<double>(clients) / static_cast<double>(population);
  return clients >= population ? 1.0 : std::min(1.0, rate * (1.0 + 0x1p-50));
}

}  // namespace

// Of several pairs one is drawn, and which is seen: the distribution of the loss is the mixture of
// theirs.
PrivacyLoss PrivacyLoss::one_of(const std::vector<Weighted>& parts) {
  const auto mixed = [&](const auto& side_of) {
    double step = std::numeric_limits<double>::infinity(), reach = 0.0, slack = 0.0;
    Side unmoved;
    for (const Weighted& part : parts) {
      const Side& side = side_of(part.loss);
      slack = std::max(slack, side.slack);
      unmoved.infinite += part.probability * side.infinite;
      if (side.step == 0.0) continue;
      const double low = static_cast<double>(side.first) * side.step;
      const double high = low + static_cast<double>(side.probabilities.size()) * side.step;
      step = std::min(step, side.step);
      reach = std::max({reach, std::abs(low), std::abs(high)});
    }
    if (reach == 0.0) return unmoved;
    LossBuilder builder(step, reach);
    for (const Weighted& part : parts) {
      const Side& side = side_of(part.loss);
      for (std::size_t i = 0; i < side.probabilities.size(); ++i) {
        if (side.probabilities[i] == 0.0) continue;
        const double at = static_cast<double>(side.first) + static_cast<double>(i);
        builder.add(at * side.step, part.probability * side.probabilities[i]);
      }
    }
    builder.add_infinite(unmoved.infinite);
    return std::move(builder).finish(slack + kBinomialError);
  };
  const auto forward = [](const PrivacyLoss& loss) -> const Side& { return loss.forward_; };
  const auto backward = [](const PrivacyLoss& loss) -> const Side& {
    return loss.backward_ ? *loss.backward_ : loss.forward_;
  };
  const bool directed = std::ranges::any_of(
      parts, [](const Weighted& part) { return part.loss.backward_.has_value(); });
  return directed ? LossBuilder::directed(mixed(forward), mixed(backward))
                  : LossBuilder::symmetric(mixed(forward));
}

PrivacyLoss loss_over_sizes(std::uint64_t population, double share,
                            const std::function<PrivacyLoss(std::uint64_t clients)>& loss_of,
                            SizeDetail detail) {
  if (share >= 1.0) return loss_of(population);
  const BinomialWindow sizes = binomial_window(population, share, 1.0 - share, kTail);
  const double mean = static_cast<double>(population) * share;
  const double deviation = std::sqrt(mean * (1.0 - share));
  std::vector<PrivacyLoss::Weighted> parts;
  for (std::uint64_t size = sizes.first; size < sizes.end();) {
    const double away = (static_cast<double>(size) - mean) / deviation;
    const double width = away < -kBulk ? -kBulk - away : away > kBulk ? kBulk : width_of(detail);
    const auto joined = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(width * deviation));
    std::uint64_t end = std::min(sizes.end(), size + joined);
    if (size == 0) end = 1;  // nobody takes part
    double probability = 0.0;
    for (std::uint64_t i = size; i < end; ++i) probability += sizes.probabilities[i - sizes.first];
    const PrivacyLoss nothing;
    parts.push_back(
        {probability, size == 0 ? nothing : loss_of(size).sampled(rate_of(end - 1, population))});
    size = end;
  }
  parts.push_back({sizes.below + sizes.above, PrivacyLoss::approximate(0.0, 1.0)});
  return PrivacyLoss::one_of(parts);
}

PrivacyLoss loss_with_silence(const Background& report, std::uint64_t population, double share) {
  if (share >= 1.0 || report.epsilon <= 0.0) return PrivacyLoss::shuffled(report, population);
  // Without a floor of its own a report has that of the generic bound.
  const double floor =
      report.floor > 0.0 ? std::min(1.0, report.floor) : 2.0 / (std::exp(report.epsilon) + 1.0);
  Background answer = report;
  answer.floor = ((1.0 - share) + share * floor) * (1.0 - 0x1p-50);
  answer.epsilon = exact::add_up(report.epsilon, 0x1p-49);  // what the floor was lowered by
  return PrivacyLoss::shuffled(answer, population);
}

std::uint64_t population_of(std::uint64_t clients, double share) {
  const double population = std::round(static_cast<double>(clients) / share);
  return std::max(clients, static_cast<std::uint64_t>(population));
}

std::uint64_t size_not_exceeded(std::uint64_t population, double share, double tail) {
  if (share >= 1.0) return population;
  const BinomialWindow sizes = binomial_window(population, share, 1.0 - share, kTail);
  double above = sizes.above;
  if (above > tail) return population;
  std::uint64_t size = sizes.end() - 1;
  for (; size > sizes.first; --size) {
    above += sizes.probabilities[size - sizes.first] * (1.0 + 2.0 * kBinomialError);
    if (above > tail) break;
  }
  return size;
}

std::uint64_t honest_members(std::uint64_t members, double honest) {
  if (members <= 1 || honest >= 1.0) return members;
  return 1 + static_cast<std::uint64_t>(std::floor(honest * static_cast<double>(members - 1)));
}

}  // namespace sotto
