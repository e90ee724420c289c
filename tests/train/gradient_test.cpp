// Gradients of the two engines: LibTorch's against finite differences of its own loss and against
// the native trainer's.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sotto/native.h"
#include "sotto/trainer.h"

namespace sotto {
namespace {

TrainerRequest request_of(const std::string& network, SampleShape shape) {
  TrainerRequest request;
  request.network = *find_network(network, shape, 10);
  request.input = shape;
  request.classes = 10;
  request.gradients = true;
  return request;
}

struct Told {
  Layout layout;
  std::vector<float> gradient;
};

Told told_by(const TrainerFactory& factory, const Dataset& data, std::size_t count) {
  std::vector<std::uint32_t> indices(count);
  std::iota(indices.begin(), indices.end(), 11U);
  Preprocess preprocess;
  preprocess.mean = {0.25F};
  preprocess.deviation = {0.5F};
  auto trainer = *factory.make();
  EXPECT_TRUE(trainer->load(factory.initial_weights(3)));
  Told told{factory.layout(), std::vector<float>(factory.layout().size(), 9.0F)};
  const auto done = trainer->gradient(data, indices, preprocess, told.gradient);
  EXPECT_TRUE(done) << done.error().message;
  return told;
}

TEST(Gradient, BothEnginesTellTheSame) {
  const DataSplit data = make_embedded(0);
  const TrainerRequest request = request_of("linear", data.train.shape);
  const auto torch = *make_torch_factory(request);
  const auto native = *make_native_factory(request);
  EXPECT_EQ(native->initial_weights(4), torch->initial_weights(4));
  for (const std::size_t count : {1, 2, 300}) {
    const Told first = told_by(*torch, data.train, count),
               second = told_by(*native, data.train, count);
    double most = 0.0;
    for (std::size_t i = 0; i < first.gradient.size(); ++i) {
      ASSERT_NEAR(first.gradient[i], second.gradient[i], 1e-5) << i;
      most = std::max(most, std::abs(double{first.gradient[i]}));
    }
    EXPECT_GT(most, 1e-2);
  }
}

TEST(Gradient, BuffersHaveNone) {
  const DataSplit data = make_embedded(0);
  const auto factory = *make_torch_factory(request_of("ldp-fed", data.train.shape));
  const Told told = told_by(*factory, data.train, 40);
  std::size_t buffers = 0;
  for (const TensorSpec& tensor : told.layout.tensors()) {
    double most = 0.0;
    for (std::size_t i = 0; i < tensor.size; ++i) {
      most = std::max(most, std::abs(double{told.gradient[tensor.offset + i]}));
    }
    EXPECT_EQ(most == 0.0, tensor.role == TensorRole::kBuffer) << tensor.name;
    buffers += tensor.role == TensorRole::kBuffer ? 1 : 0;
  }
  EXPECT_GT(buffers, 0U);
}

/// Along the gradient itself, where the loss is steepest.
TEST(Gradient, IsTheSlopeOfTheLoss) {
  const DataSplit data = make_embedded(0);
  for (const char* const network : {"srr-mnist", "ldp-fed"}) {
    const auto factory = *make_torch_factory(request_of(network, data.train.shape));
    const Told told = told_by(*factory, data.train, 20);
    std::vector<std::uint32_t> indices(20);
    std::iota(indices.begin(), indices.end(), 11U);
    Preprocess preprocess;
    preprocess.mean = {0.25F};
    preprocess.deviation = {0.5F};
    double square = 0.0;
    for (const float value : told.gradient) square += double{value} * double{value};
    auto trainer = *factory->make();
    const auto loss = [&](double step) {
      std::vector<float> at = factory->initial_weights(3);
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] += static_cast<float>(step / std::sqrt(square)) * told.gradient[i];
      }
      EXPECT_TRUE(trainer->load(at));
      return trainer->evaluate(data.train, indices, preprocess)->loss / 20.0;
    };
    const double slope = (loss(3e-3) - loss(-3e-3)) / 6e-3;
    EXPECT_NEAR(slope, std::sqrt(square), 0.02 * std::sqrt(square)) << network;
  }
}

}  // namespace
}  // namespace sotto
