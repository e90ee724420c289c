// Training on LibTorch: weights in and out, reproducible to the bit, and it learns.
#include "sotto/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "halves.h"

namespace sotto {
namespace {

std::vector<std::uint32_t> all_of(const Dataset& data) {
  std::vector<std::uint32_t> indices(data.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

std::shared_ptr<const TrainerFactory> factory_of(const std::string& network, SampleShape input,
                                                 std::int64_t classes) {
  TrainerRequest request;
  request.network = *find_network(network, input, classes);
  request.input = input;
  request.classes = classes;
  auto factory = make_torch_factory(request);
  EXPECT_TRUE(factory) << factory.error().message;
  return *factory;
}

std::vector<float> trained(const TrainerFactory& factory, const Dataset& data,
                           const TrainOptions& options, std::uint64_t seed,
                           const Preprocess& preprocess = {}) {
  auto trainer = *factory.make();
  EXPECT_TRUE(trainer->load(factory.initial_weights(1)));
  const auto result =
      trainer->train(data, all_of(data), preprocess, options, BitSource::from_seed(seed, "train"));
  EXPECT_TRUE(result) << result.error().message;
  std::vector<float> weights(factory.layout().size());
  EXPECT_TRUE(trainer->store(weights));
  return weights;
}

TEST(Trainer, GivesBackTheWeightsItWasGiven) {
  const auto factory = factory_of("srr-cifar", {3, 32, 32}, 10);
  std::vector<float> weights(factory->layout().size());
  std::iota(weights.begin(), weights.end(), 0.5F);
  auto trainer = *factory->make();
  ASSERT_TRUE(trainer->load(weights));
  std::vector<float> back(weights.size());
  ASSERT_TRUE(trainer->store(back));
  EXPECT_EQ(back, weights);
}

TEST(Trainer, LearnsWithEveryOptimizerAndNetworkKind) {
  const Dataset data = halves(200);
  for (const std::string network : {"linear", "mlp(16)", "srr-mnist", "ldp-fed"}) {
    const auto factory = factory_of(network, data.shape, 2);
    for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kAdam, Optimizer::kRmsprop}) {
      TrainOptions options;
      options.optimizer = optimizer;
      options.learning_rate = optimizer == Optimizer::kSgd ? 0.05 : 0.003;
      options.epochs = 5;
      auto trainer = *factory->make();
      ASSERT_TRUE(trainer->load(trained(*factory, data, options, 1)));
      const auto sums = trainer->evaluate(data, all_of(data), {});
      ASSERT_TRUE(sums);
      EXPECT_EQ(sums->samples, 200U);
      EXPECT_GT(sums->correct, 190U) << network << " optimizer " << static_cast<int>(optimizer);
    }
  }
}

TEST(Trainer, SameBitsSameWeightsOnWhateverThread) {
  const Dataset data = halves(64);
  const auto factory = factory_of("srr-mnist", data.shape, 2);
  TrainOptions options;
  options.momentum = 0.5;
  const std::vector<float> first = trained(*factory, data, options, 1);
  std::vector<float> others[3];
  {
    std::vector<std::jthread> threads;
    for (auto& weights : others) {
      threads.emplace_back([&] { weights = trained(*factory, data, options, 1); });
    }
  }
  for (const auto& weights : others) EXPECT_EQ(weights, first);
  EXPECT_NE(trained(*factory, data, options, 2), first);
}

TEST(Trainer, ATrainerRemembersNothingOfTheClientBefore) {
  const Dataset data = halves(64);
  const auto factory = factory_of("ldp-fed", data.shape, 2);
  TrainOptions options;
  options.optimizer = Optimizer::kAdam;
  options.learning_rate = 0.01;
  const std::vector<float> fresh = trained(*factory, data, options, 1);

  auto trainer = *factory->make();
  const std::vector<float> start = factory->initial_weights(1);
  ASSERT_TRUE(trainer->load(start));
  ASSERT_TRUE(trainer->train(data, all_of(data), {}, options, BitSource::from_seed(9, "other")));
  ASSERT_TRUE(trainer->load(start));
  ASSERT_TRUE(trainer->train(data, all_of(data), {}, options, BitSource::from_seed(1, "train")));
  std::vector<float> second(start.size());
  ASSERT_TRUE(trainer->store(second));
  EXPECT_EQ(second, fresh);
}

TEST(Trainer, AugmentationIsPartOfTheBits) {
  const Dataset data = halves(64);
  const auto factory = factory_of("linear", data.shape, 2);
  Preprocess augmented;
  augmented.flip = true;
  augmented.crop_padding = 2;
  const auto a = trained(*factory, data, {}, 1, augmented);
  EXPECT_EQ(trained(*factory, data, {}, 1, augmented), a);
  EXPECT_NE(trained(*factory, data, {}, 1), a);
}

TEST(Trainer, ALastBatchOfOneSampleDoesNotBreakBatchNorm) {
  const Dataset data = halves(17);
  Preprocess preprocess;
  preprocess.resize = SampleShape{3, 32, 32};
  const auto factory = factory_of("srr-cifar", {3, 32, 32}, 2);
  TrainOptions options;
  options.batch_size = 16;
  for (const float weight : trained(*factory, data, options, 1, preprocess)) {
    ASSERT_TRUE(std::isfinite(weight));
  }
}

TEST(Trainer, UnknownDevicesAreErrorsThatSayWhatIsValid) {
  TrainerRequest request;
  request.network = *find_network("linear", {1, 8, 8}, 2);
  for (const char* device : {"gpu", "cuda:x", ""}) {
    request.device = device;
    const auto factory = make_torch_factory(request);
    ASSERT_FALSE(factory) << device;
    EXPECT_NE(factory.error().message.find("valid: cpu, cuda, cuda:N"), std::string::npos);
    EXPECT_EQ(factory.error().kind, ErrorKind::kUsage);
  }
}

TEST(Trainer, SavingToAnImpossiblePlaceIsAnError) {
  const auto factory = factory_of("linear", {1, 8, 8}, 2);
  EXPECT_FALSE(factory->save(factory->initial_weights(1), "/dev/null/model.pt"));
}

TEST(Trainer, FeaturesAreWhatTheFlatteningLayerYields) {
  const Dataset data = halves(5);
  const Preprocess preprocess{.mean = {0.5F}, .deviation = {0.25F}};
  // Of a network that begins with it: the samples themselves.
  auto linear = *factory_of("linear", data.shape, 2)->make();
  std::vector<float> features(2 * 64);
  const std::vector<std::uint32_t> some = {3, 1};
  ASSERT_TRUE(linear->features(data, some, preprocess, FeatureLayer::kFlatten, features));
  std::vector<float> expected(features.size());
  std::vector<std::int64_t> labels(2);
  fill_batch(data, some, preprocess, nullptr, expected, labels);
  EXPECT_EQ(features, expected);
}

TEST(Trainer, ScoresAreTheLastLayerOfTheFeatures) {
  // Of srr-mnist, the last layer is linear: scores = W features + b, computed here by hand.
  const Dataset data = halves(300);
  const auto factory = factory_of("srr-mnist", data.shape, 2);
  auto trainer = *factory->make();
  const std::vector<float> weights = factory->initial_weights(3);
  ASSERT_TRUE(trainer->load(weights));
  const auto all = all_of(data);
  const auto count = static_cast<std::size_t>(find_network("srr-mnist", data.shape, 2)->features());
  ASSERT_EQ(count, 32U * 2 * 2);
  std::vector<float> features(300 * count);
  std::vector<float> scores(300 * 2);
  ASSERT_TRUE(trainer->features(data, all, {}, FeatureLayer::kFlatten, features));
  ASSERT_TRUE(trainer->features(data, all, {}, FeatureLayer::kScores, scores));
  const std::size_t matrix = weights.size() - 2 * count - 2;
  for (const std::size_t i : {0U, 255U, 256U, 299U}) {
    for (std::size_t k = 0; k < 2; ++k) {
      double sum = weights[weights.size() - 2 + k];
      for (std::size_t j = 0; j < count; ++j) {
        EXPECT_GE(features[i * count + j], 0.0F) << "pooled after a ReLU";
        sum += static_cast<double>(weights[matrix + k * count + j]) * features[i * count + j];
      }
      EXPECT_NEAR(scores[2 * i + k], sum, 1e-4) << i;
    }
  }
  std::vector<float> wrong(300 * (count + 1));
  EXPECT_FALSE(trainer->features(data, all, {}, FeatureLayer::kFlatten, wrong));
}

TEST(Trainer, TellsWhenAPassIsDone) {
  const Dataset data = halves(20);
  int passes = 0;
  TrainOptions options;
  options.epochs = 3;
  options.on_epoch = [&] { ++passes; };
  trained(*factory_of("linear", data.shape, 2), data, options, 1);
  EXPECT_EQ(passes, 3);
}

}  // namespace
}  // namespace sotto
