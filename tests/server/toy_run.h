// A run without a tensor library: a trainer of the tests' own, and the recipe that they vary.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "sotto/federation.h"

namespace sotto {

/// "Trains" by moving each weight towards a number that depends on the client's data and bits.
class ToyTrainer final : public Trainer {
 public:
  explicit ToyTrainer(const Layout& layout) : layout_(layout), weights_(layout.size()) {}
  const Layout& layout() const noexcept override { return layout_; }
  Result<void> load(std::span<const float> weights) override {
    weights_.assign(weights.begin(), weights.end());
    return {};
  }
  Result<void> store(std::span<float> weights) const override {
    std::copy(weights_.begin(), weights_.end(), weights.begin());
    return {};
  }
  Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                     const Preprocess& /*preprocess*/, const TrainOptions& options,
                     BitSource bits) override {
    for (float& weight : weights_) {
      const auto label = data.labels[indices[bits.below(indices.size())]];
      const double goal = label + bits.unit();
      weight += static_cast<float>(options.learning_rate * (goal - weight));
    }
    return {};
  }
  /// The slope towards the labels, another one for each weight.
  Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& /*preprocess*/, std::span<float> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto label = static_cast<float>(data.labels[indices[i % indices.size()]]);
      out[i] = weights_[i] - label / static_cast<float>(i % 7 + 1);
    }
    return {};
  }
  /// Accuracy follows the first weight, so that tests can steer it.
  Result<EvaluationSums> evaluate(const Dataset& /*data*/, std::span<const std::uint32_t> indices,
                                  const Preprocess& /*preprocess*/) override {
    EvaluationSums sums;
    sums.samples = indices.size();
    const double share = std::clamp(static_cast<double>(weights_[0]) / 10.0, 0.0, 1.0);
    sums.correct = static_cast<std::uint64_t>(share * static_cast<double>(indices.size()));
    sums.loss = 1.0 / 3.0 * static_cast<double>(indices.size());
    return sums;
  }
  /// Feature j of a sample with label y is y + j.
  Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& /*preprocess*/, FeatureLayer /*layer*/,
                        std::span<float> out) override {
    const std::size_t each = out.size() / indices.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<float>(data.labels[indices[i / each]]) + static_cast<float>(i % each);
    }
    return {};
  }

 private:
  Layout layout_;
  std::vector<float> weights_;
};

class ToyFactory final : public TrainerFactory {
 public:
  explicit ToyFactory(Layout layout) : layout_(std::move(layout)) {}
  Result<std::unique_ptr<Trainer>> make() const override {
    return std::make_unique<ToyTrainer>(layout_);
  }
  const Layout& layout() const noexcept override { return layout_; }
  std::vector<float> initial_weights(std::uint64_t /*seed*/) const override {
    return std::vector<float>(layout_.size(), 0.0F);
  }
  unsigned parallelism() const noexcept override { return 64; }
  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    return write_file_atomically(path, std::as_bytes(weights));
  }
  std::string device() const override { return "cpu"; }
  std::string version() const override { return "toy"; }

 private:
  Layout layout_;
};

inline Result<std::shared_ptr<const TrainerFactory>> make_toy(const TrainerRequest& request) {
  return std::make_shared<const ToyFactory>(request.network.layout());
}

inline Recipe toy_recipe(const std::vector<std::string>& settings = {}) {
  constexpr const char* kText =
      "[data]\nname = \"embedded\"\n[model]\nname = \"mlp(3)\"\n[train]\nlr = 0.3\n"
      "[federation]\nclients = 40\nfraction = 0.5\nrounds = 6\n";
  auto recipe = parse_recipe(kText, "toy.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return *recipe;
}

inline RunResult run(const Recipe& recipe, const RunOptions& options) {
  auto result = run_recipe(recipe, options, make_toy);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : RunResult{};
}

}  // namespace sotto
