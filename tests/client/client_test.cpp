// The one body of a client, by what it is about to randomize: the mean gradient over its samples
// and their views, brought to one length unless it is rounding alone.
#include "client/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sotto/features.h"
#include "sotto/native.h"

namespace sotto {
namespace {

constexpr SampleShape kShape{1, 4, 4};

DataSplit images() {
  DataSplit split;
  split.train.shape = kShape;
  split.train.classes = 3;
  BitSource bits = BitSource::from_seed(1, "images");
  std::vector<std::uint8_t> pixels(5 * kShape.size());
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(bits.below(256));
  split.train.values = std::move(pixels);
  split.train.labels = {0, 1, 2, 1, 0};
  return split;
}

struct Seen final : RunObserver {
  std::vector<float> values;
  void on_report(const RoundPlan& /*plan*/, std::uint32_t /*client*/, const Part& /*part*/,
                 std::span<const float> bounded, const Report& /*report*/) override {
    values.assign(bounded.begin(), bounded.end());
  }
};

/// What the client that holds `samples` would randomize.
std::vector<float> payload(const Dataset& data, std::span<const std::uint32_t> samples,
                           bool normalize, double floor) {
  TrainerRequest request;
  request.network = *find_network("linear", kShape, 3);
  request.input = kShape;
  request.classes = 3;
  request.gradients = true;
  const auto factory = *make_native_factory(request);
  const auto trainer = *factory->make();
  const auto layout = std::make_shared<const Layout>(factory->layout());
  ClientSettings settings;
  settings.data = &data;
  Client client(settings, layout, *trainer);
  Seen seen;
  client.observer = &seen;
  RoundPlan plan;
  plan.round = 1;
  plan.payload = Payload::kGradient;
  plan.fills_ball = normalize;
  plan.fill_floor = floor;
  const Domain domain{layout, std::vector<Range>(layout->tensors().size(), Range{0.0, 1.0})};
  auto mechanism = make_mechanism("ldp-sgd", domain, {{"epsilon", 1.0}, {"norm", 100.0}});
  EXPECT_TRUE(mechanism) << mechanism.error().message;
  ClientGroup group;
  group.clients = {0};
  Part part;
  part.mechanism = std::shared_ptr<const Mechanism>(std::move(*mechanism));
  for (std::size_t i = 0; i < layout->tensors().size(); ++i) part.tensors.push_back(i);
  group.parts.push_back(std::move(part));
  ClientTask task;
  task.samples = samples;
  task.bits = [](std::string_view purpose) { return BitSource::from_seed(2, purpose); };
  const std::vector<float> model = factory->initial_weights(3);
  const auto sent = client.run(plan, group, model, std::move(task),
                               [](const Envelope&) -> Result<void> { return {}; });
  EXPECT_TRUE(sent) << sent.error().message;
  return seen.values;
}

double length(const std::vector<float>& values) {
  double square = 0.0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

TEST(Client, AGradientIsTheMeanOverItsSamplesAndTheirViews) {
  const ImageView mirrored{.flip = true};
  DataSplit viewed = images();
  ASSERT_TRUE(apply_features("none", viewed, 1, std::span(&mirrored, 1)));
  DataSplit flipped = images();
  auto& pixels = std::get<0>(flipped.train.values);
  for (std::size_t row = 0; row < pixels.size(); row += 4) {
    std::reverse(pixels.begin() + static_cast<std::ptrdiff_t>(row),
                 pixels.begin() + static_cast<std::ptrdiff_t>(row + 4));
  }
  const std::vector<std::uint32_t> own = {1, 4};
  const auto plain = payload(images().train, own, false, 0.0);
  const auto mirror = payload(flipped.train, own, false, 0.0);
  const auto mean = payload(viewed.train, own, false, 0.0);
  ASSERT_EQ(mean.size(), plain.size());
  EXPECT_NE(plain, mirror);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i], 0.5F * (plain[i] + mirror[i]), 1e-6F) << i;
  }
}

TEST(Client, RoundingIsNotMadeAsLongAsAGradient) {
  const Dataset data = images().train;
  const std::vector<std::uint32_t> own = {2};
  const double plain = length(payload(data, own, false, 0.0));
  ASSERT_GT(plain, 0.01);
  EXPECT_NEAR(length(payload(data, own, true, 1e-6)), 100.0, 1e-3);
  const auto below = payload(data, own, true, 2.0 * plain);
  EXPECT_NEAR(length(below), plain, 1e-6);
}

}  // namespace
}  // namespace sotto
