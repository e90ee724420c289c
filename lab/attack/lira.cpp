#include "attack/lira.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr double kLeastVariance = 1e-12;
constexpr float kMostConfident = 1e6F;  // weights of strong noise have outputs without measure

}  // namespace

void LikelihoodRatio::NormalFit::add(double value) {
  ++count;
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

/// Each sample's own variance where enough models tell it, the mean of all samples' otherwise.
void LikelihoodRatio::share_variance(std::vector<NormalFit>& fits) {
  double squares = 0.0;
  double degrees = 0.0;
  for (const NormalFit& fit : fits) {
    if (fit.count < 2) continue;
    squares += fit.squares;
    degrees += static_cast<double>(fit.count - 1);
  }
  const double shared = degrees > 0.0 ? squares / degrees : 1.0;
  for (NormalFit& fit : fits) {
    fit.variance =
        fit.count >= kOwnVariance ? fit.squares / static_cast<double>(fit.count - 1) : shared;
    fit.variance = std::max(fit.variance, kLeastVariance);
  }
}

LikelihoodRatio::LikelihoodRatio(const Confidences& confidences,
                                 std::span<const std::size_t> shadows)
    : in_(confidences.samples()), out_(confidences.samples()) {
  for (const std::size_t model : shadows) {
    const auto phi = confidences.phi(model);
    const auto relation = confidences.relation(model);
    for (std::size_t i = 0; i < phi.size(); ++i) {
      if (relation[i] == Confidences::Relation::kIn) in_[i].add(phi[i]);
      if (relation[i] == Confidences::Relation::kOut) out_[i].add(phi[i]);
    }
  }
  share_variance(in_);
  share_variance(out_);
}

std::optional<double> LikelihoodRatio::online(std::size_t sample, double phi) const {
  const NormalFit& in = in_[sample];
  const NormalFit& out = out_[sample];
  if (in.count < 2 || out.count < 2) return std::nullopt;
  const auto log_density = [&](const NormalFit& fit) {
    const double distance = phi - fit.mean;
    return -0.5 * (distance * distance / fit.variance + std::log(fit.variance));
  };
  return log_density(in) - log_density(out);
}

std::optional<double> LikelihoodRatio::offline(std::size_t sample, double phi) const {
  const NormalFit& out = out_[sample];
  if (out.count < 2) return std::nullopt;
  return (phi - out.mean) / std::sqrt(out.variance);
}

float logit_of_label(std::span<const float> scores, std::int32_t label) {
  double largest = -HUGE_VAL;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (static_cast<std::int32_t>(i) != label && std::isfinite(scores[i])) {
      largest = std::max(largest, static_cast<double>(scores[i]));
    }
  }
  double others = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (static_cast<std::int32_t>(i) != label && std::isfinite(scores[i])) {
      others += std::exp(static_cast<double>(scores[i]) - largest);
    }
  }
  const double own = scores[static_cast<std::size_t>(label)];
  const double phi = own - largest - std::log(others);
  if (!std::isfinite(phi)) return 0.0F;
  return std::clamp(static_cast<float>(phi), -kMostConfident, kMostConfident);
}

}  // namespace sotto
