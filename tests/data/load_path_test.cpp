// Paths: each form finds its reader, folders their parts, and two files must be of one kind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "sotto/data.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

class LoadPath : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& content) {
    EXPECT_TRUE(write_file_atomically(folder_ / name, content));
    return (folder_ / name).string();
  }

  /// `count` images of 1 x 2 pixels with labels 0, 1, 0, 1, ...
  void put_idx(const std::string& images, const std::string& labels, unsigned char count) {
    std::string pixels = {0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, 1, 0, 0, 0, 2};
    std::string classes = {0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
    for (unsigned char i = 0; i < count; ++i) {
      pixels += {static_cast<char>(i), 7};
      classes += static_cast<char>(i % 2);
    }
    put(images, pixels);
    put(labels, classes);
  }

  static std::string message(const Result<DataSplit>& result) {
    return result ? "accepted" : result.error().message;
  }

  fs::path folder_ = fs::temp_directory_path() / ("sotto-load-" + std::to_string(::getpid()));
};

std::string csv(int rows, const char* first_class, const char* second_class) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(i) + ",1.5," + (i % 2 == 0 ? first_class : second_class) + "\n";
  }
  return text;
}

TEST_F(LoadPath, HoldsOutWhereThereIsNoTestPart) {
  const auto split =
      load_data({.source = put("all.csv", csv(40, "cat", "dog")), .test_fraction = 0.25});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), 30U);
  EXPECT_EQ(split->test.size(), 10U);
  EXPECT_EQ(split->train.class_names, (std::vector<std::string>{"cat", "dog"}));
}

TEST_F(LoadPath, HoldsOutASampleOfEveryClassThatCanSpareOne) {
  const auto split = load_data({.source = put("few.csv", csv(4, "cat", "dog"))});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), 2U);
  EXPECT_EQ(split->test.size(), 2U);
  EXPECT_NE(split->test.labels[0], split->test.labels[1]);
}

TEST_F(LoadPath, RefusesAFractionThatIsNone) {
  const std::string file = put("all.csv", csv(40, "cat", "dog"));
  for (const double fraction : {0.0, 1.0, -0.1, 1.5}) {
    EXPECT_NE(
        message(load_data({.source = file, .test_fraction = fraction})).find("between 0 and 1"),
        std::string::npos);
  }
}

TEST_F(LoadPath, TakesTheTestPartThatIsNamed) {
  const auto split = load_data({.source = put("train.csv", csv(40, "cat", "dog")),
                                .test = put("test.csv", csv(6, "cat", "dog"))});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), 40U);
  EXPECT_EQ(split->test.size(), 6U);
}

TEST_F(LoadPath, TrainAndTestMustBeOfOneKind) {
  const std::string train = put("train.csv", csv(40, "cat", "dog"));
  EXPECT_NE(message(load_data({.source = train, .test = put("other.csv", csv(6, "cat", "emu"))}))
                .find("train classes are cat, dog; test classes are cat, emu"),
            std::string::npos);
  EXPECT_NE(
      message(load_data({.source = train, .test = put("wide.csv", "a,b,c,label\n1,2,3,cat\n")}))
          .find("train samples are 1x1x2, test samples 1x1x3"),
      std::string::npos);
  EXPECT_NE(message(load_data({.source = train, .test = (folder_ / "gone.csv").string()}))
                .find("gone.csv: no such file"),
            std::string::npos);
}

TEST_F(LoadPath, FindsTheLabelsBesideIdxImages) {
  put_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 20);
  const auto split = load_data({.source = (folder_ / "train-images-idx3-ubyte").string()});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size() + split->test.size(), 20U);

  put_idx("pictures.idx", "classes.idx", 20);
  EXPECT_NE(message(load_data({.source = (folder_ / "pictures.idx").string()})).find("labels"),
            std::string::npos);
  EXPECT_EQ(message(load_data({.source = (folder_ / "pictures.idx").string(),
                               .labels = (folder_ / "classes.idx").string()})),
            "accepted");
}

TEST_F(LoadPath, AFolderOfIdxFilesHasBothParts) {
  put_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 20);
  put_idx("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 4);
  const auto split = load_data({.source = folder_.string()});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), 20U);
  EXPECT_EQ(split->test.size(), 4U);
  EXPECT_EQ(split->train.shape, (SampleShape{1, 1, 2}));
}

TEST_F(LoadPath, AFolderOfCifarBatchesHasBothParts) {
  const std::string record = std::string(1, '\3') + std::string(3072, 'x');
  put("data_batch_1.bin", record + record);
  put("data_batch_2.bin", record);
  put("test_batch.bin", record);
  const auto split = load_data({.source = folder_.string()});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), 3U);
  EXPECT_EQ(split->test.size(), 1U);
}

TEST_F(LoadPath, ALeafFolderKeepsItsUsers) {
  const std::string two = R"({"users": ["u", "v"], "num_samples": [2, 1], "user_data": {
      "u": {"x": [[0.5, 1], [1, 0]], "y": [0, 1]}, "v": {"x": [[0, 0]], "y": [1]}}})";
  put("train/a.json", two);
  put("test/a.json", two);
  const auto split = load_data({.source = folder_.string()});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->test.size(), 3U);
  const auto parts = make_partition(split->train, "users", 0, 0);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->client(0).size(), 2U);
  EXPECT_EQ(parts->client(1).size(), 1U);
}

TEST_F(LoadPath, AKnownSetMustHaveItsCataloguedSize) {
  put_idx("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz", 20);
  put_idx("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz", 4);
  EXPECT_NE(message(load_data({.source = "mnist", .folder = folder_}))
                .find("24 samples of 1x1x2 in 2 classes; mnist has 70000 of 1x28x28 in 10"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto
