// Gradients of single samples: norms from activations and one product of scaled signals against
// gradients that are written out.
#include <gtest/gtest.h>

#include <cmath>

#include "native/net.h"
#include "sotto/network.h"

namespace sotto::native {
namespace {

constexpr std::size_t kBatch = 7;

/// After the signals of a batch went back.
Net net_of(const std::string& name) {
  const Network network = *find_network(name, {1, 12, 12}, 4);
  BitSource bits = BitSource::from_seed(3, "samples");
  Net net(network);
  net.load(network.initialise(bits));
  net.reserve(kBatch, Net::Gradients::kOfSamples);
  std::vector<float> sample(network.input.size());
  for (std::size_t n = 0; n < kBatch; ++n) {
    for (float& value : sample) value = static_cast<float>(bits.normal());
    net.put(n, sample.data());
  }
  net.forward(kBatch, Pass::kTrain, &bits);
  for (std::size_t n = 0; n < kBatch; ++n) net.begin_back(n, n % 4, 1.0);
  net.back_signals(kBatch);
  return net;
}

double square_of(std::span<const float> values) {
  double square = 0.0;
  for (const float value : values) square += double{value} * double{value};
  return square;
}

TEST(Samples, NormsAndSumsAreThoseOfWrittenGradients) {
  for (const char* const name :
       {"linear", "mlp(30)", "mlp(40,25)", "srr-mnist", "ldp-fed-nobn", "ldp-fed-gn"}) {
    SCOPED_TRACE(name);
    Net net = net_of(name);
    const std::size_t size = net.weights().size();
    const std::size_t from = net.products_from();
    ASSERT_LT(from, size);
    std::vector<std::vector<float>> whole(kBatch, std::vector<float>(size));
    for (std::size_t n = 0; n < kBatch; ++n) {
      net.sample_gradient(n, whole[n].data());
      std::vector<float> written(from, 9.0F);
      net.written_gradient(n, written.data());
      EXPECT_TRUE(std::equal(written.begin(), written.end(), whole[n].begin()));
      // Written out, every element is rounded to float32.
      const double square = square_of(std::span(whole[n]).subspan(from));
      EXPECT_GT(square, 0.0);
      EXPECT_NEAR(net.product_square(n), square, 1e-6 * square);
    }
    const float factors[kBatch] = {1.0F, 0.25F, 0.3F, 0.0F, 1e-3F, 7.0F, 0.9F};
    for (std::size_t n = 0; n < kBatch; ++n) net.scale_signals(n, factors[n]);
    net.drop_sample(5);
    net.add_products(kBatch);
    for (std::size_t at = from; at < size; ++at) {
      double expected = 0.0;
      double magnitude = 0.0;
      for (std::size_t n = 0; n < kBatch; ++n) {
        if (n == 5) continue;
        expected += double{factors[n]} * double{whole[n][at]};
        magnitude += std::abs(double{factors[n]} * double{whole[n][at]});
      }
      EXPECT_NEAR(net.gradients()[at], expected, 1e-6 * magnitude);
    }
  }
}

TEST(Samples, BatchNormBetweenLinearLayersLeavesNoProducts) {
  const Net net(*find_network("ldpfl-dnn", {1, 1, 64}, 4));
  EXPECT_EQ(net.products_from(), net.weights().size());
}

}  // namespace
}  // namespace sotto::native
