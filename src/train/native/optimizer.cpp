#include "train/native/optimizer.h"

#include <algorithm>
#include <cmath>

namespace sotto::native {
namespace {

constexpr double kBeta1 = 0.9;       // Adam
constexpr double kBeta2 = 0.999;     // Adam
constexpr double kDecay = 0.99;      // RMSprop
constexpr double kStability = 1e-8;  // Adam and RMSprop

void clear(Floats& moments, std::size_t count) {
  if (moments.size() < count) {
    moments = Floats(count);
  } else {
    std::fill_n(moments.data(), count, 0.0F);
  }
}

}  // namespace

void Steps::begin(const TrainOptions& options, std::size_t count) {
  optimizer_ = options.optimizer;
  rate_ = options.learning_rate;
  rate_decay_ = options.rate_decay;
  momentum_ = options.momentum;
  weight_decay_ = options.weight_decay;
  count_ = count;
  steps_ = 0;
  const bool is_sgd = optimizer_ == Optimizer::kSgd;
  has_first_ = optimizer_ == Optimizer::kAdam || (is_sgd && momentum_ != 0.0);
  has_second_ = !is_sgd;
  if (has_first_) clear(first_, count);
  if (has_second_) clear(second_, count);
}

double Steps::next_rate() { return rate_ / (1.0 + rate_decay_ * static_cast<double>(steps_++)); }

std::optional<Sgd> Steps::begin_sgd() {
  if (optimizer_ != Optimizer::kSgd) return std::nullopt;
  return Sgd{static_cast<float>(next_rate()), static_cast<float>(momentum_),
             static_cast<float>(weight_decay_)};
}

void Steps::step(float* weights, const float* gradients) {
  if (const auto step = begin_sgd()) return sgd(*step, weights, gradients, velocity(), count_);
  const double rate = next_rate();
  const bool is_adam = optimizer_ == Optimizer::kAdam;
  const auto t = static_cast<double>(steps_);
  const double beta2 = is_adam ? kBeta2 : kDecay;
  adaptive({.beta1 = static_cast<float>(kBeta1),
            .rest1 = static_cast<float>(1.0 - kBeta1),
            .beta2 = static_cast<float>(beta2),
            .rest2 = static_cast<float>(1.0 - beta2),
            .step = static_cast<float>(is_adam ? rate / (1.0 - std::pow(kBeta1, t)) : rate),
            .correction2 = static_cast<float>(is_adam ? 1.0 - std::pow(kBeta2, t) : 1.0),
            .stability = static_cast<float>(kStability),
            .decay = static_cast<float>(weight_decay_)},
           weights, gradients, is_adam ? first_.data() : nullptr, second_.data(), count_);
}

std::vector<float> Steps::state(std::span<const std::uint32_t> places) const {
  std::vector<float> state = {static_cast<float>(steps_)};
  const auto append = [&](const Floats& moments) {
    for (const std::uint32_t place : places) state.push_back(moments[place]);
  };
  if (has_first_) append(first_);
  if (has_second_) append(second_);
  return state;
}

void Steps::restore(std::span<const float> state, std::span<const std::uint32_t> places) {
  const std::size_t moments = (has_first_ ? 1 : 0) + (has_second_ ? 1 : 0);
  if (state.size() != 1 + moments * places.size()) return;
  steps_ = static_cast<std::int64_t>(state[0]);
  const float* from = state.data() + 1;
  const auto take = [&](const Floats& moment) {
    for (const std::uint32_t place : places) moment[place] = *from++;
  };
  if (has_first_) take(first_);
  if (has_second_) take(second_);
}

}  // namespace sotto::native
