// The real sets below $SOTTO_DATA: counts, classes and means as published. Skipped without them.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "data/formats/expect.h"
#include "data/readers.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

class RealSets : public testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("SOTTO_DATA");
    if (folder == nullptr || !fs::is_directory(folder)) {
      GTEST_SKIP() << "SOTTO_DATA does not name a folder with the real sets";
    }
    root_ = folder;
  }

  fs::path file(const std::string& name) const { return root_ / name; }

  template <class Read>
  Dataset timed(const std::string& what, Read read) {
    const auto start = std::chrono::steady_clock::now();
    auto data = read();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(succeeds(data));
    if (!data) return {};
    std::cout << what << ": " << data->size() << " samples in " << seconds.count() << " s\n";
    return std::move(*data);
  }

 private:
  fs::path root_;
};

std::vector<std::size_t> class_counts(const Dataset& data) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(data.classes));
  for (const std::int32_t label : data.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

// Mean of each channel, in [0, 1].
std::vector<double> channel_means(const Dataset& data) {
  const std::size_t plane = std::size_t{data.shape.height} * data.shape.width;
  std::vector<double> sums(data.shape.channels);
  const auto& pixels = bytes_in(data);
  for (std::size_t i = 0; i < pixels.size(); ++i) sums[i / plane % sums.size()] += pixels[i];
  for (double& sum : sums) sum /= 255.0 * static_cast<double>(plane * data.size());
  return sums;
}

TEST_F(RealSets, Mnist) {
  const auto train = timed("mnist train", [&] {
    return read_idx(file("mnist/train-images-idx3-ubyte.gz"),
                    file("mnist/train-labels-idx1-ubyte.gz"));
  });
  EXPECT_EQ(train.shape, (SampleShape{1, 28, 28}));
  EXPECT_EQ(class_counts(train),
            (std::vector<std::size_t>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  const auto test = timed("mnist test", [&] {
    return read_idx(file("mnist/t10k-images-idx3-ubyte.gz"),
                    file("mnist/t10k-labels-idx1-ubyte.gz"));
  });
  EXPECT_EQ(class_counts(test),
            (std::vector<std::size_t>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  EXPECT_NEAR(channel_means(train).at(0), 0.1307, 0.0001);
}

TEST_F(RealSets, FashionMnist) {
  const auto train = timed("fashion-mnist train", [&] {
    return read_idx(file("fashion-mnist/train-images-idx3-ubyte.gz"),
                    file("fashion-mnist/train-labels-idx1-ubyte.gz"));
  });
  EXPECT_EQ(class_counts(train), std::vector<std::size_t>(10, 6000));
  const auto test = timed("fashion-mnist test", [&] {
    return read_idx(file("fashion-mnist/t10k-images-idx3-ubyte.gz"),
                    file("fashion-mnist/t10k-labels-idx1-ubyte.gz"));
  });
  EXPECT_EQ(class_counts(test), std::vector<std::size_t>(10, 1000));
}

TEST_F(RealSets, Cifar10) {
  const fs::path tar = file("cifar10/cifar10-jpeg.tar.gz");
  const auto train = timed("cifar10 train", [&] { return read_images(tar, "train"); });
  EXPECT_EQ(train.shape, (SampleShape{3, 32, 32}));
  EXPECT_EQ(class_counts(train), std::vector<std::size_t>(10, 5000));
  EXPECT_EQ(train.class_names.front(), "airplane");
  EXPECT_EQ(train.class_names.back(), "truck");
  const auto means = channel_means(train);
  ASSERT_EQ(means.size(), 3U);
  EXPECT_NEAR(means[0], 0.4913, 0.00005);
  EXPECT_NEAR(means[1], 0.4821, 0.00005);
  EXPECT_NEAR(means[2], 0.4465, 0.00005);
  const auto test = timed("cifar10 test", [&] { return read_images(tar, "test"); });
  EXPECT_EQ(class_counts(test), std::vector<std::size_t>(10, 1000));
}

TEST_F(RealSets, MedicalMnist) {
  const auto data = timed("medical-mnist",
                          [&] { return read_images(file("medical-mnist/medical-mnist.tar.gz")); });
  EXPECT_EQ(data.shape, (SampleShape{1, 64, 64}));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"AbdomenCT", "BreastMRI", "CXR", "ChestCT",
                                                        "Hand", "HeadCT"}));
  EXPECT_EQ(class_counts(data),
            (std::vector<std::size_t>{10000, 8954, 10000, 10000, 10000, 10000}));
}

}  // namespace
}  // namespace sotto
