// Gradients of single samples: norms from activations and one product of scaled signals against
// gradients that are written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sotto/network.h"
#include "train/native/net.h"

namespace sotto::native {
namespace {

constexpr std::size_t kBatch = 7;

// Large enough that srr-mnist's second convolution goes by tiles.
constexpr SampleShape kShape{1, 16, 16};

std::vector<float> sample_of(std::size_t n) {
  BitSource bits = BitSource::from_seed(n, "sample");
  std::vector<float> sample(kShape.size());
  for (float& value : sample) value = static_cast<float>(bits.normal());
  return sample;
}

/// After a batch of samples [first, first + count) went forward.
Net net_of(const std::string& name, std::size_t first = 0, std::size_t count = kBatch) {
  const Network network = *find_network(name, kShape, 4);
  BitSource bits = BitSource::from_seed(3, "samples");
  Net net(network);
  net.load(network.initialise(bits));
  net.reserve(count, Net::Gradients::kOfSamples);
  for (std::size_t n = 0; n < count; ++n) net.put(n, sample_of(first + n).data());
  net.forward(count, Pass::kTrain, &bits);
  for (std::size_t n = 0; n < count; ++n) net.begin_back(n, (first + n) % 4, 1.0);
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
    net.back_signals(kBatch);
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

/// Who else is in the batch does not show, to the last bit; and a batch's gradient is the sum.
TEST(Samples, GradientsAreThoseOfSamplesAlone) {
  for (const char* const name : {"mlp(30)", "srr-mnist", "ldp-fed-nobn", "ldp-fed-gn"}) {
    SCOPED_TRACE(name);
    Net net = net_of(name);
    net.back_signals(kBatch);
    const std::size_t size = net.weights().size();
    std::vector<double> sum(size);
    std::vector<double> magnitude(size);
    for (std::size_t n = 0; n < kBatch; ++n) {
      std::vector<float> together(size);
      std::vector<float> alone(size);
      net.sample_gradient(n, together.data());
      Net one = net_of(name, n, 1);
      one.back_signals(1);
      one.sample_gradient(0, alone.data());
      EXPECT_EQ(together, alone);
      for (std::size_t i = 0; i < size; ++i) {
        sum[i] += double{alone[i]};
        magnitude[i] += std::abs(double{alone[i]});
      }
    }
    double most = 0.0;
    for (const double value : magnitude) most = std::max(most, value);
    EXPECT_GT(most, 0.1);
    Net batch = net_of(name);
    batch.back(kBatch, false);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(batch.gradients()[i], sum[i], 2e-6 * most) << i;
    }
    // Once more on top of it, as for a sum over many batches.
    for (std::size_t n = 0; n < kBatch; ++n) batch.begin_back(n, n % 4, 1.0);
    batch.back(kBatch, true);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(batch.gradients()[i], 2.0 * sum[i], 4e-6 * most) << i;
    }
  }
}

TEST(Samples, BatchNormBetweenLinearLayersLeavesNoProducts) {
  const Net net(*find_network("ldpfl-dnn", {1, 1, 64}, 4));
  EXPECT_EQ(net.products_from(), net.weights().size());
}

}  // namespace
}  // namespace sotto::native
