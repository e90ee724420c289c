// The flat optimizers take the same steps as LibTorch's own.
#include <gtest/gtest.h>

#include "train/torch/torch_optimizer.h"

namespace sotto {
namespace {

/// Largest difference after 20 steps on a quadratic with noisy gradients.
double difference(const TrainOptions& options, torch::optim::Optimizer& reference,
                  torch::Tensor& expected) {
  torch::Tensor flat = expected.detach().clone();
  torch::Tensor gradients = torch::zeros_like(flat);
  FlatOptimizer optimizer(options, flat, gradients);
  torch::manual_seed(7);
  for (int step = 0; step < 20; ++step) {
    const torch::Tensor noise = torch::randn_like(flat);
    expected.mutable_grad() = expected.detach() * 0.3 + noise;
    gradients.copy_(flat * 0.3 + noise);
    reference.step();
    optimizer.step();
    EXPECT_EQ(gradients.abs().max().item<float>(), 0.0F);
  }
  return (flat - expected.detach()).abs().max().item<double>();
}

torch::Tensor start() {
  torch::manual_seed(1);
  return torch::randn({50}).set_requires_grad(true);
}

TEST(FlatOptimizer, SgdAgreesWithLibTorch) {
  for (const double momentum : {0.0, 0.5, 0.9}) {
    TrainOptions options;
    options.momentum = momentum;
    options.weight_decay = 0.01;
    torch::Tensor expected = start();
    torch::optim::SGD reference(
        {expected}, torch::optim::SGDOptions(0.1).momentum(momentum).weight_decay(0.01));
    EXPECT_LT(difference(options, reference, expected), 1e-6) << "momentum " << momentum;
  }
}

TEST(FlatOptimizer, AdamAgreesWithLibTorch) {
  TrainOptions options;
  options.optimizer = Optimizer::kAdam;
  options.learning_rate = 0.02;
  options.weight_decay = 0.01;
  torch::Tensor expected = start();
  torch::optim::Adam reference({expected}, torch::optim::AdamOptions(0.02).weight_decay(0.01));
  EXPECT_LT(difference(options, reference, expected), 1e-6);
}

TEST(FlatOptimizer, RmspropAgreesWithLibTorch) {
  TrainOptions options;
  options.optimizer = Optimizer::kRmsprop;
  options.learning_rate = 0.02;
  options.weight_decay = 0.01;
  torch::Tensor expected = start();
  torch::optim::RMSprop reference({expected},
                                  torch::optim::RMSpropOptions(0.02).weight_decay(0.01));
  EXPECT_LT(difference(options, reference, expected), 1e-6);
}

TEST(FlatOptimizer, TheRateDecaysWithTheSteps) {
  TrainOptions options;
  options.learning_rate = 0.6;
  options.rate_decay = 1.0;
  torch::Tensor weights = torch::zeros({1});
  torch::Tensor gradients = torch::zeros({1});
  FlatOptimizer optimizer(options, weights, gradients);
  for (const double expected : {-0.6, -0.9, -1.1}) {  // 0.6 + 0.3 + 0.2
    gradients.fill_(1.0);
    optimizer.step();
    EXPECT_NEAR(weights.item<double>(), expected, 1e-6);
  }
}

}  // namespace
}  // namespace sotto
