// DP-SGD on LibTorch: a sample's gradient is its own, clipping bounds what it does, and it learns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "halves.h"
#include "sotto/trainer.h"

namespace sotto {
namespace {

std::shared_ptr<const TrainerFactory> factory_of(const std::string& network) {
  TrainerRequest request;
  request.network = *find_network(network, {1, 8, 8}, 2);
  request.input = {1, 8, 8};
  request.classes = 2;
  return make_torch_factory(request).value();
}

/// What training on these samples adds to the initial weights.
std::vector<double> moved(const TrainerFactory& factory, const Dataset& data,
                          const std::vector<std::uint32_t>& indices, const TrainOptions& options,
                          std::uint64_t seed = 2) {
  const std::vector<float> start = factory.initial_weights(1);
  auto trainer = factory.make().value();
  EXPECT_TRUE(trainer->load(start));
  const auto result =
      trainer->train(data, indices, {}, options, BitSource::from_seed(seed, "private"));
  EXPECT_TRUE(result) << result.error().message;
  std::vector<float> end(start.size());
  EXPECT_TRUE(trainer->store(end));
  std::vector<double> difference(start.size());
  for (std::size_t i = 0; i < start.size(); ++i) {
    difference[i] = static_cast<double>(end[i]) - static_cast<double>(start[i]);
  }
  return difference;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square);
}

/// One step on the whole lot: every sample joins, and the rate makes the step the sum itself.
TrainOptions whole_lot(double clip, std::size_t samples) {
  TrainOptions options;
  options.clip = clip;
  options.batch_size = static_cast<std::uint32_t>(samples);
  options.learning_rate = static_cast<double>(samples);
  return options;
}

// The adjacency that the accountant assumes, on a real network: one sample less moves the sum of a
// lot by at most the clip, and with all samples clipped, by just that.
TEST(PrivateTraining, OneSampleMovesAStepByTheClipAtMost) {
  const Dataset data = halves(24);
  std::vector<std::uint32_t> all(24);
  std::iota(all.begin(), all.end(), 0U);
  for (const std::string network : {"linear", "mlp(9)", "srr-mnist", "ldp-fed-nobn"}) {
    const auto factory = factory_of(network);
    for (const double clip : {0.01, 0.1}) {
      const auto whole = moved(*factory, data, all, whole_lot(clip, 24));
      for (const std::uint32_t left_out : {0U, 7U, 23U}) {
        std::vector<std::uint32_t> others = all;
        others.erase(others.begin() + left_out);
        const auto less = moved(*factory, data, others, whole_lot(clip, 23));
        EXPECT_NEAR(distance(whole, less), clip, 1e-3 * clip) << network << ' ' << left_out;
      }
    }
  }
}

// Without clipping in force and without noise, one step is that of plain training on the batch.
TEST(PrivateTraining, AWideClipIsPlainTraining) {
  const Dataset data = halves(16);
  std::vector<std::uint32_t> all(16);
  std::iota(all.begin(), all.end(), 0U);
  for (const std::string network : {"linear", "srr-mnist"}) {
    const auto factory = factory_of(network);
    TrainOptions options = whole_lot(1e4, 16);
    options.learning_rate = 0.1;
    const auto lot = moved(*factory, data, all, options);
    options.clip = 0.0;
    const auto batch = moved(*factory, data, all, options);
    EXPECT_LT(distance(lot, batch), 1e-5 * distance(batch, std::vector<double>(batch.size())));
  }
}

TEST(PrivateTraining, LearnsUnderModestNoise) {
  const Dataset data = halves(200);
  std::vector<std::uint32_t> all(200);
  std::iota(all.begin(), all.end(), 0U);
  const auto factory = factory_of("linear");
  TrainOptions options;
  options.clip = 1.0;
  options.noise = 1.0;
  options.batch_size = 50;
  options.epochs = 10;
  options.learning_rate = 0.5;
  auto trainer = factory->make().value();
  ASSERT_TRUE(trainer->load(factory->initial_weights(1)));
  ASSERT_TRUE(trainer->train(data, all, {}, options, BitSource::from_seed(3, "private")));
  EXPECT_GT(trainer->evaluate(data, all, {})->correct, 185U);
  // Noise a hundred times as large leaves nothing to learn from.
  options.noise = 300.0;
  ASSERT_TRUE(trainer->load(factory->initial_weights(1)));
  ASSERT_TRUE(trainer->train(data, all, {}, options, BitSource::from_seed(3, "private")));
  EXPECT_LT(trainer->evaluate(data, all, {})->correct, 185U);
}

// Lots are Poisson samples. All samples are alike and clipped, so a step tells how many joined: a
// binomial number, with mean 28 and variance 8.4. 200 lots; lots of a fixed size or of everybody
// are far outside, and so is a rate that is 4 % off. False alarms below 1e-6 for both.
TEST(PrivateTraining, LotsArePoissonSamples) {
  Dataset data = halves(40);
  auto& pixels = std::get<std::vector<std::uint8_t>>(data.values);
  std::fill(pixels.begin(), pixels.end(), std::uint8_t{200});
  std::fill(data.labels.begin(), data.labels.end(), 1);
  std::vector<std::uint32_t> all(40);
  std::iota(all.begin(), all.end(), 0U);
  const auto factory = factory_of("linear");
  TrainOptions options;
  options.clip = 0.01;
  options.batch_size = 28;
  options.learning_rate = 28.0;
  constexpr int kLots = 200;
  double sum = 0.0;
  double squares = 0.0;
  for (int lot = 0; lot < kLots; ++lot) {
    const auto step = moved(*factory, data, all, options, static_cast<std::uint64_t>(lot));
    const double joined = distance(step, std::vector<double>(step.size())) / options.clip;
    EXPECT_NEAR(joined, std::round(joined), 0.01);
    sum += joined;
    squares += joined * joined;
  }
  const double mean = sum / kLots;
  EXPECT_NEAR(mean, 28.0, 1.1);
  EXPECT_NEAR(squares / kLots - mean * mean, 8.4, 5.0);
}

TEST(PrivateTraining, RefusesBatchNorm) {
  const auto factory = factory_of("ldp-fed");
  auto trainer = factory->make().value();
  ASSERT_TRUE(trainer->load(factory->initial_weights(1)));
  TrainOptions options;
  options.clip = 1.0;
  const std::vector<std::uint32_t> some = {0, 1};
  const auto refused = trainer->train(halves(2), some, {}, options, BitSource::from_seed(1, "x"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("layer 1 "), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace sotto
