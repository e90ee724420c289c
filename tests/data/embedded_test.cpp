// The embedded set: the same bytes for a seed on any number of threads and from any compiler.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "base/sha256.h"
#include "sotto/data.h"

namespace sotto {
namespace {

const std::vector<std::uint8_t>& bytes(const Dataset& data) { return std::get<0>(data.values); }

std::string fingerprint(const DataSplit& split) {
  Sha256 hash;
  for (const Dataset* part : {&split.train, &split.test}) {
    hash.add(std::as_bytes(std::span(bytes(*part))));
    std::vector<std::uint8_t> labels(part->labels.begin(), part->labels.end());
    hash.add(std::as_bytes(std::span(labels)));
  }
  return hash.hex();
}

const DataSplit& seed_zero() {
  static const DataSplit kSplit = make_embedded(0);
  return kSplit;
}

TEST(Embedded, HasTheSameBytesEverywhere) {
  // Changes only when the generator is meant to change: reported accuracies depend on it.
  EXPECT_EQ(fingerprint(seed_zero()),
            "5b8e66103697766c7cad6218e097ac3613bc31898ef1bf8a9b366c78dcc0c5c7");
}

TEST(Embedded, DoesNotDependOnThreads) {
  EXPECT_EQ(fingerprint(make_embedded(0, 2)), fingerprint(seed_zero()));
  EXPECT_EQ(fingerprint(make_embedded(0, 7)), fingerprint(seed_zero()));
}

TEST(Embedded, DependsOnTheSeedAlone) {
  const std::string one = fingerprint(make_embedded(1));
  EXPECT_EQ(one, fingerprint(make_embedded(1)));
  EXPECT_NE(one, fingerprint(seed_zero()));
}

TEST(Embedded, IsBalancedAndShuffled) {
  for (const Dataset* part : {&seed_zero().train, &seed_zero().test}) {
    ASSERT_EQ(part->classes, 10);
    ASSERT_EQ(part->class_names.size(), 10U);
    ASSERT_EQ(bytes(*part).size(), part->size() * 784);
    std::array<std::size_t, 10> counts{};
    std::size_t ascents = 0;
    for (std::size_t i = 0; i < part->size(); ++i) {
      ++counts.at(static_cast<std::size_t>(part->labels[i]));
      if (i > 0 && part->labels[i] == (part->labels[i - 1] + 1) % 10) ++ascents;
    }
    for (const std::size_t count : counts) EXPECT_EQ(count, part->size() / 10);
    EXPECT_LT(ascents, part->size() / 5) << "labels still count 0, 1, 2, ...";
  }
  EXPECT_EQ(seed_zero().train.size(), 12'000U);
  EXPECT_EQ(seed_zero().test.size(), 2'000U);
}

TEST(Embedded, CatalogueHasItsMeanAndDeviation) {
  const KnownSet* known = find_known_set("embedded");
  ASSERT_NE(known, nullptr);
  double sum = 0.0;
  double squares = 0.0;
  const auto& pixels = bytes(seed_zero().train);
  for (const std::uint8_t byte : pixels) {
    const double value = byte / 255.0;
    sum += value;
    squares += value * value;
  }
  const double mean = sum / static_cast<double>(pixels.size());
  EXPECT_NEAR(mean, known->mean.at(0), 1e-4);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(pixels.size()) - mean * mean),
              known->deviation.at(0), 1e-4);
  EXPECT_EQ(known->train_size, seed_zero().train.size());
  EXPECT_EQ(known->test_size, seed_zero().test.size());
  EXPECT_EQ(known->shape, seed_zero().train.shape);
}

TEST(Embedded, EveryImageShowsAStroke) {
  const auto& pixels = bytes(seed_zero().train);
  for (std::size_t i = 0; i < seed_zero().train.size(); ++i) {
    const auto image = std::span(pixels).subspan(i * 784, 784);
    const auto bright = std::count_if(image.begin(), image.end(), [](auto v) { return v > 100; });
    ASSERT_GT(bright, 10) << "image " << i;
    ASSERT_LT(bright, 350) << "image " << i;
  }
}

}  // namespace
}  // namespace sotto
