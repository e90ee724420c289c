// Gradients of many clients at once are those of the native trainer, client by client.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sotto/features.h"
#include "sotto/native.h"
#include "train/changed_features.h"
#include "train/torch/torch_gradients.h"

namespace sotto {
namespace {

/// The rows of a client's samples and their views, as Client hands them to its trainer.
std::vector<std::uint32_t> rows_of(std::span<const std::uint32_t> samples, std::uint32_t views) {
  std::vector<std::uint32_t> rows;
  for (const std::uint32_t sample : samples) {
    for (std::uint32_t v = 0; v < views; ++v) rows.push_back(sample * views + v);
  }
  return rows;
}

/// The mean row of the data, which is most of every row, made as long as 7.3, and a scale for each
/// feature: what follows the weights of a network whose features are changed.
std::vector<float> change_of(const Dataset& data) {
  const auto& values = std::get<std::vector<float>>(data.values);
  const std::size_t size = data.shape.size();
  std::vector<double> mean(size, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) mean[i % size] += values[i];
  double square = 0.0;
  for (const double value : mean) square += value * value;
  std::vector<float> change;
  for (const double value : mean) {
    change.push_back(static_cast<float>(7.3 * value / std::sqrt(square)));
  }
  for (std::size_t i = 0; i < size; ++i) {
    change.push_back(2.0F + 0.25F * static_cast<float>(i % 3));
  }
  return change;
}

/// `change` is mean and scale of the features, or empty.
void expect_the_native_gradients(const Dataset& data, std::int64_t clients, std::int64_t each,
                                 const std::vector<float>& change = {}) {
  const Network network = *find_network("linear", data.shape, 10);
  TrainerRequest request;
  request.network = network;
  request.input = data.shape;
  request.classes = 10;
  request.gradients = true;
  std::shared_ptr<const TrainerFactory> native = *make_native_factory(request);
  if (!change.empty()) {
    Layout layout = native->layout();
    const auto size = static_cast<std::int64_t>(data.shape.size());
    layout.add("features.mean", {size}, TensorRole::kBuffer);
    layout.add("features.scale", {size}, TensorRole::kBuffer);
    native = change_features(std::move(native), std::move(layout));
  }
  std::vector<float> model = native->initial_weights(4);
  std::ranges::copy(change, model.end() - static_cast<std::ptrdiff_t>(change.size()));
  auto trainer = *native->make();
  ASSERT_TRUE(trainer->load(model));

  TorchSamples samples(data, {}, torch::kCPU, 2);
  LinearGradients gradients(network, samples, torch::kCPU);
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(clients * each));
  std::iota(numbers.begin(), numbers.end(), 3U);
  gradients.compute(model, numbers, clients, each);
  ASSERT_EQ(network.layout().tensors().size(), 2U);
  for (std::int64_t c = 0; c < clients; ++c) {
    std::vector<float> expected(model.size(), 0.0F);
    const auto own = std::span(numbers).subspan(static_cast<std::size_t>(c * each),
                                                static_cast<std::size_t>(each));
    if (each > 0) {
      ASSERT_TRUE(trainer->gradient(data, rows_of(own, data.views), {}, expected));
    }
    float most = 0.0F;
    for (std::size_t t = 0; t < 2; ++t) {
      const TensorSpec& tensor = network.layout().tensors()[t];
      const torch::Tensor row = gradients.rows(t).select(0, c);
      ASSERT_EQ(row.numel(), static_cast<std::int64_t>(tensor.size));
      ASSERT_TRUE(gradients.rows(t).is_contiguous());
      for (std::size_t i = 0; i < tensor.size; ++i) {
        most = std::max(most, std::abs(expected[tensor.offset + i]));
        ASSERT_NEAR(row.data_ptr<float>()[i], expected[tensor.offset + i], 1e-5) << c << ' ' << i;
      }
    }
    EXPECT_EQ(most > 1e-2F, each > 0);
  }
}

TEST(LinearGradients, AreThoseOfTheNativeTrainer) {
  const DataSplit data = make_embedded(0);
  expect_the_native_gradients(data.train, 40, 1);
  expect_the_native_gradients(data.train, 7, 5);
  expect_the_native_gradients(data.train, 3, 0);
}

TEST(LinearGradients, AreMeansOverViews) {
  DataSplit data = make_embedded(0);
  data.train = select(data.train, rows_of(std::vector<std::uint32_t>{0}, 60));
  const std::vector<ImageView> views = {{.right = 1}, {.flip = true}};
  ASSERT_TRUE(apply_features("gabor", data, 1, views));
  ASSERT_EQ(data.train.views, 3U);
  expect_the_native_gradients(data.train, 20, 1);
  expect_the_native_gradients(data.train, 4, 9);
}

TEST(LinearGradients, AreOfChangedFeatures) {
  DataSplit data = make_embedded(0);
  data.train = select(data.train, rows_of(std::vector<std::uint32_t>{0}, 60));
  const std::vector<ImageView> views = {{.right = 1}, {.flip = true}};
  ASSERT_TRUE(apply_features("gabor", data, 1, views));
  const std::vector<float> change = change_of(data.train);
  expect_the_native_gradients(data.train, 20, 1, change);
  expect_the_native_gradients(data.train, 4, 9, change);
  expect_the_native_gradients(data.train, 20, 1, change);  // the samples are as they were
  expect_the_native_gradients(data.train, 3, 0, change);
}

TEST(LinearGradients, AreOfOneLayerAlone) {
  EXPECT_TRUE(LinearGradients::takes(*find_network("linear", {1, 5, 5}, 10)));
  EXPECT_FALSE(LinearGradients::takes(*find_network("mlp(3)", {1, 5, 5}, 10)));
}

}  // namespace
}  // namespace sotto
