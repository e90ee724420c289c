// The native trainer against mathematics: a gradient is what finite differences of the loss say,
// training is steps along it, and nothing but a linear network is accepted. tests/train compares it
// with LibTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/file.h"
#include "base/simd.h"
#include "sotto/native.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

constexpr SampleShape kShape{1, 3, 7};
constexpr std::int32_t kClasses = 4;

Dataset samples(std::size_t count) {
  Dataset data;
  data.shape = kShape;
  data.classes = kClasses;
  BitSource bits = BitSource::from_seed(3, "samples");
  std::vector<float> values(count * kShape.size());
  for (float& value : values) value = static_cast<float>(bits.normal());
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(bits.below(kClasses)));
  }
  data.values = std::move(values);
  return data;
}

TrainerRequest request_of(const std::string& network) {
  TrainerRequest request;
  request.network = *find_network(network, kShape, kClasses);
  request.input = kShape;
  request.classes = kClasses;
  request.gradients = true;
  return request;
}

std::vector<std::uint32_t> all_of(const Dataset& data) {
  std::vector<std::uint32_t> indices(data.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

struct Fixture {
  Dataset data = samples(9);
  std::shared_ptr<const TrainerFactory> factory = *make_native_factory(request_of("linear"));
  std::unique_ptr<Trainer> trainer = *factory->make();
  std::vector<float> weights = factory->initial_weights(5);

  double loss(const std::vector<float>& at) {
    EXPECT_TRUE(trainer->load(at));
    return trainer->evaluate(data, all_of(data), {})->loss / static_cast<double>(data.size());
  }
  std::vector<float> gradient(const std::vector<float>& at) {
    EXPECT_TRUE(trainer->load(at));
    std::vector<float> out(at.size(), 7.0F);
    EXPECT_TRUE(trainer->gradient(data, all_of(data), {}, out));
    return out;
  }
};

TEST(NativeLinear, GradientIsTheSlopeOfTheLoss) {
  Fixture fixture;
  const std::vector<float> gradient = fixture.gradient(fixture.weights);
  constexpr float kStep = 1e-2F;
  for (std::size_t i = 0; i < fixture.weights.size(); ++i) {
    std::vector<float> up = fixture.weights, down = fixture.weights;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = (fixture.loss(up) - fixture.loss(down)) / (2.0 * double{kStep});
    EXPECT_NEAR(gradient[i], slope, 2e-4) << i;
  }
}

TEST(NativeLinear, TrainingTakesStepsAlongTheGradient) {
  Fixture fixture;
  TrainOptions options;
  options.batch_size = 100;
  options.epochs = 3;
  options.learning_rate = 0.25;
  options.momentum = 0.5;
  options.weight_decay = 0.125;
  ASSERT_TRUE(fixture.trainer->load(fixture.weights));
  ASSERT_TRUE(fixture.trainer->train(fixture.data, all_of(fixture.data), {}, options,
                                     BitSource::from_seed(1, "train")));
  std::vector<float> trained(fixture.weights.size());
  ASSERT_TRUE(fixture.trainer->store(trained));

  std::vector<double> by_hand(fixture.weights.begin(), fixture.weights.end());
  std::vector<double> velocity(by_hand.size(), 0.0);
  for (int step = 0; step < 3; ++step) {
    const auto gradient = fixture.gradient(std::vector<float>(by_hand.begin(), by_hand.end()));
    for (std::size_t i = 0; i < by_hand.size(); ++i) {
      velocity[i] = 0.5 * velocity[i] + double{gradient[i]} + 0.125 * by_hand[i];
      by_hand[i] -= 0.25 * velocity[i];
    }
  }
  for (std::size_t i = 0; i < by_hand.size(); ++i) EXPECT_NEAR(trained[i], by_hand[i], 1e-5) << i;
}

TEST(NativeLinear, LargeScoresStayFinite) {
  Fixture fixture;
  for (float& weight : fixture.weights) weight *= 1e4F;
  for (const float value : fixture.gradient(fixture.weights)) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(std::isfinite(fixture.loss(fixture.weights)));
}

TEST(NativeLinear, RefusesWhatItCannotTrain) {
  EXPECT_TRUE(is_linear(request_of("linear").network));
  TrainerRequest script = request_of("linear");
  script.file = "model.pt";
  ASSERT_FALSE(make_native_factory(script));
  EXPECT_NE(make_native_factory(script).error().message.find("model.pt"), std::string::npos);
  TrainerRequest cuda = request_of("linear");
  cuda.device = "cuda";
  EXPECT_FALSE(make_native_factory(cuda));
  Fixture fixture;
  TrainOptions adam;
  adam.optimizer = Optimizer::kAdam;
  EXPECT_FALSE(fixture.trainer->train(fixture.data, all_of(fixture.data), {}, adam,
                                      BitSource::from_seed(1, "train")));
  TrainOptions clipped;
  clipped.clip = 1.0;
  EXPECT_FALSE(fixture.trainer->train(fixture.data, all_of(fixture.data), {}, clipped,
                                      BitSource::from_seed(1, "train")));
  EXPECT_FALSE(fixture.factory->trains_privately());
}

/// More samples than are added together, and as many inputs as fill lanes and leave some over.
TEST(NativeLinear, EveryInstructionSetGivesTheSameBits) {
  Fixture fixture;
  fixture.data = samples(37);
  const SimdLevel best = simd_level();
  std::vector<float> expected;
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    const std::vector<float> gradient = fixture.gradient(fixture.weights);
    if (expected.empty()) expected = gradient;
    EXPECT_EQ(gradient, expected) << name_of(level);
  }
  set_simd_level(best);
  // The mean over all is the mean of what each sample gives alone.
  std::vector<double> mean(expected.size());
  for (const std::uint32_t index : all_of(fixture.data)) {
    std::vector<float> alone(expected.size());
    ASSERT_TRUE(fixture.trainer->gradient(fixture.data, std::span(&index, 1), {}, alone));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += alone[i] / 37.0;
  }
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(expected[i], mean[i], 1e-6);
}

/// Without LibTorch: 8 bytes of length, a header that names every tensor, then the numbers.
TEST(NativeLinear, SavesSafetensors) {
  const TemporaryFolder folder;
  const Fixture fixture;
  ASSERT_TRUE(fixture.factory->save(fixture.weights, folder / "model.pt"));
  EXPECT_FALSE(std::filesystem::exists(folder / "model.pt"));
  const std::string file = *read_text(folder / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  EXPECT_EQ(length % 8, 0U);
  const std::size_t numbers = sizeof(length) + length;
  ASSERT_EQ(file.size(), numbers + fixture.weights.size() * sizeof(float));
  EXPECT_EQ(file.substr(sizeof(length), file.find_last_of('}', numbers) + 1 - sizeof(length)),
            R"({"__metadata__":{"format":"pt"},)"
            R"("1.weight":{"dtype":"F32","shape":[4,21],"data_offsets":[0,336]},)"
            R"("1.bias":{"dtype":"F32","shape":[4],"data_offsets":[336,352]}})");
  EXPECT_EQ(std::memcmp(file.data() + numbers, fixture.weights.data(), file.size() - numbers), 0);
  EXPECT_FALSE(fixture.factory->save({}, folder / "none.pt"));
}

/// The loss that evaluation sums is the softmax loss of the scores.
TEST(NativeLinear, TellsTheScoresOfASample) {
  const Dataset data = samples(5);
  const auto factory = make_native_factory(request_of("linear"));
  ASSERT_TRUE(factory);
  const auto trainer = (*factory)->make();
  ASSERT_TRUE(trainer);
  ASSERT_TRUE((*trainer)->load((*factory)->initial_weights(1)));
  const std::vector<std::uint32_t> indices = all_of(data);
  std::vector<float> scores(data.size() * kClasses);
  ASSERT_TRUE((*trainer)->features(data, indices, {}, FeatureLayer::kScores, scores));
  double loss = 0.0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    double sum = 0.0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(scores[i * kClasses + c]);
    loss -=
        std::log(std::exp(scores[i * kClasses + static_cast<std::size_t>(data.labels[i])]) / sum);
  }
  const auto evaluated = (*trainer)->evaluate(data, indices, {});
  ASSERT_TRUE(evaluated);
  EXPECT_NEAR(evaluated->loss, loss, 1e-5);
  std::vector<float> inputs(data.size() * kShape.size());
  ASSERT_TRUE((*trainer)->features(data, indices, {}, FeatureLayer::kFlatten, inputs));
  EXPECT_EQ(inputs, std::get<std::vector<float>>(data.values));
  EXPECT_FALSE((*trainer)->features(data, indices, {}, FeatureLayer::kScores, inputs));
}

}  // namespace
}  // namespace sotto
