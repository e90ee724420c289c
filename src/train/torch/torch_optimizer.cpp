#include "train/torch/torch_optimizer.h"

#include <cmath>

#include "train/torch/torch_net.h"

namespace sotto {
namespace {

constexpr double kBeta1 = 0.9;       // Adam
constexpr double kBeta2 = 0.999;     // Adam
constexpr double kDecay = 0.99;      // RMSprop
constexpr double kStability = 1e-8;  // Adam and RMSprop

}  // namespace

FlatOptimizer::FlatOptimizer(const TrainOptions& options, torch::Tensor parameters,
                             torch::Tensor gradients)
    : options_(options), parameters_(std::move(parameters)), gradients_(std::move(gradients)) {
  const bool is_sgd = options.optimizer == Optimizer::kSgd;
  if (options.optimizer == Optimizer::kAdam || (is_sgd && options.momentum != 0.0)) {
    first_ = torch::zeros_like(parameters_);
  }
  if (!is_sgd) second_ = torch::zeros_like(parameters_);
  gradients_.zero_();
}

void FlatOptimizer::step() {
  const torch::NoGradGuard no_grad;
  const double rate =
      options_.learning_rate / (1.0 + options_.rate_decay * static_cast<double>(steps_));
  ++steps_;
  if (options_.weight_decay != 0.0) gradients_.add_(parameters_, options_.weight_decay);
  switch (options_.optimizer) {
    case Optimizer::kSgd:
      if (first_.defined()) {
        first_.mul_(options_.momentum).add_(gradients_);
        parameters_.add_(first_, -rate);
      } else {
        parameters_.add_(gradients_, -rate);
      }
      break;
    case Optimizer::kAdam: {
      first_.mul_(kBeta1).add_(gradients_, 1.0 - kBeta1);
      second_.mul_(kBeta2).addcmul_(gradients_, gradients_, 1.0 - kBeta2);
      const auto t = static_cast<double>(steps_);
      const double correction1 = 1.0 - std::pow(kBeta1, t);
      const double correction2 = 1.0 - std::pow(kBeta2, t);
      const torch::Tensor scale = (second_ / correction2).sqrt_().add_(kStability);
      parameters_.addcdiv_(first_, scale, -rate / correction1);
      break;
    }
    case Optimizer::kRmsprop:
      second_.mul_(kDecay).addcmul_(gradients_, gradients_, 1.0 - kDecay);
      parameters_.addcdiv_(gradients_, second_.sqrt().add_(kStability), -rate);
      break;
  }
  gradients_.zero_();
}

std::vector<float> FlatOptimizer::state() const {
  std::vector<float> state = {static_cast<float>(steps_)};
  for (const torch::Tensor& moment : {first_, second_}) {
    if (!moment.defined()) continue;
    const torch::Tensor here = moment.cpu();
    const float* const values = here.data_ptr<float>();
    state.insert(state.end(), values, values + here.numel());
  }
  return state;
}

void FlatOptimizer::restore(std::span<const float> state) {
  std::int64_t expected = 1;
  for (const torch::Tensor& moment : {first_, second_}) {
    if (moment.defined()) expected += moment.numel();
  }
  if (static_cast<std::int64_t>(state.size()) != expected) return;
  const torch::NoGradGuard no_grad;
  steps_ = static_cast<std::int64_t>(state[0]);
  std::size_t used = 1;
  for (torch::Tensor moment : {first_, second_}) {
    if (!moment.defined()) continue;
    const auto size = static_cast<std::size_t>(moment.numel());
    moment.copy_(as_tensor(state.subspan(used, size)));
    used += size;
  }
}

}  // namespace sotto
