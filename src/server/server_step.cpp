#include "server/server_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "plan/feature_statistics.h"
#include "plan/round_plan.h"

namespace sotto {
namespace {

/// A run that diverges ends in large weights, not in ones that no checkpoint takes.
float to_float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

}  // namespace

ServerStep::ServerStep(const Recipe& recipe)
    : payload_(recipe.bound.payload),
      lr_(recipe.server.lr),
      momentum_(recipe.server.momentum),
      cosine_(recipe.server.decay == RateDecay::kCosine),
      before_(statistics_rounds(recipe)),
      rounds_(static_cast<double>(recipe.federation.rounds - before_)) {}

double ServerStep::rate(RoundId round) const {
  if (!cosine_) return lr_;
  return lr_ * 0.5 * (1.0 + std::cos(std::numbers::pi * (round - before_ - 1.0) / rounds_));
}

void ServerStep::apply(RoundId round, std::size_t offset, std::span<const double> values,
                       std::span<float> model) {
  const double rate = this->rate(round);
  if (payload_ == Payload::kWeights && rate == 1.0 && momentum_ == 0.0) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      model[offset + i] = to_float(values[i]);
    }
    return;
  }
  if (momentum_ > 0.0 && velocity_.empty()) velocity_.assign(model.size(), 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = model[offset + i];
    double step = values[i];
    if (payload_ == Payload::kWeights) step -= weight;
    if (payload_ == Payload::kGradient) step = -step;
    if (momentum_ > 0.0) {
      step += momentum_ * velocity_[offset + i];
      velocity_[offset + i] = to_float(step);
    }
    model[offset + i] = to_float(weight + rate * step);
  }
}

}  // namespace sotto
