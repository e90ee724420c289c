// Loading: what is held out, what is refused, and that the real sets are read as catalogued.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "data/holdout.h"
#include "data/known.h"
#include "data/toy_data.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

std::map<std::int32_t, std::size_t> count_labels(const Dataset& data) {
  std::map<std::int32_t, std::size_t> counts;
  for (const std::int32_t label : data.labels) ++counts[label];
  return counts;
}

/// Labels in order and in values[i] the number of the sample: what went where can be seen.
Dataset numbered(const std::vector<std::size_t>& counts) {
  Dataset data = toy_labels(counts);
  std::vector<float> values(data.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  data.values = std::move(values);
  return data;
}

TEST(HoldOut, TakesTheFractionOfEachClass) {
  const DataSplit split = hold_out("toy", numbered({1000, 54, 3, 1}), 0.1, 0);
  // A tenth of 3 rounds to none, but a class that can spare a sample is tested; 1 cannot.
  EXPECT_EQ(count_labels(split.test),
            (std::map<std::int32_t, std::size_t>{{0, 100}, {1, 5}, {2, 1}}));
  EXPECT_EQ(count_labels(split.train),
            (std::map<std::int32_t, std::size_t>{{0, 900}, {1, 49}, {2, 2}, {3, 1}}));
  EXPECT_EQ(split.train.classes, 4);
  EXPECT_EQ(split.test.classes, 4);
}

TEST(HoldOut, LeavesTheLastSampleOfAClass) {
  const DataSplit split = hold_out("toy", numbered({10, 1}), 0.99, 0);
  EXPECT_EQ(count_labels(split.train), (std::map<std::int32_t, std::size_t>{{0, 1}, {1, 1}}));
}

TEST(HoldOut, EverySampleGoesToOnePartWithItsLabel) {
  const Dataset data = numbered({40, 60});
  const DataSplit split = hold_out("toy", data, 0.25, 3);
  std::vector<int> seen(100, 0);
  for (const Dataset* part : {&split.train, &split.test}) {
    const auto& values = std::get<1>(part->values);
    EXPECT_TRUE(std::ranges::is_sorted(values));
    for (std::size_t i = 0; i < part->size(); ++i) {
      const auto number = static_cast<std::size_t>(values.at(i));
      ++seen.at(number);
      EXPECT_EQ(part->labels[i], data.labels[number]);
    }
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; }));
}

TEST(HoldOut, DependsOnTheSeedAlone) {
  const auto test_values = [](std::uint64_t seed) {
    return std::get<1>(hold_out("toy", numbered({40, 60}), 0.25, seed).test.values);
  };
  EXPECT_EQ(test_values(1), test_values(1));
  EXPECT_NE(test_values(1), test_values(2));
}

TEST(HoldOut, GoesByUserWhereThereAreUsers) {
  Dataset data = numbered({50, 50});
  for (std::uint32_t i = 0; i < 100; ++i) data.users.push_back(i < 20 ? 0 : i < 99 ? 1 : 2);
  const DataSplit split = hold_out("toy", data, 0.1, 0);
  EXPECT_EQ(std::ranges::count(split.test.users, 0U), 2);
  EXPECT_EQ(std::ranges::count(split.test.users, 1U), 8);
  EXPECT_EQ(std::ranges::count(split.train.users, 2U), 1) << "a user without data is no client";
}

TEST(LoadData, MakesTheEmbeddedSetFromTheSeed) {
  const auto a = load_data({.source = "embedded", .seed = 5});
  ASSERT_TRUE(a);
  EXPECT_EQ(std::get<0>(a->test.values), std::get<0>(make_embedded(5).test.values));
}

TEST(LoadTest, IsTheTestPartOfAllData) {
  DataRequest request;
  request.source = "embedded";
  const DataSplit all = load_data(request).value();
  const Dataset test = load_test(request).value();
  EXPECT_EQ(test.labels, all.test.labels);
  EXPECT_EQ(test.values, all.test.values);
  EXPECT_EQ(test.classes, all.test.classes);
}

TEST(LoadTest, LeavesTheTrainPartUnreadWhereItLiesApart) {
  const TemporaryFolder folder;
  DataRequest request;
  request.source = folder.write("train.csv", "1,2,0\n2,3,1\n").string();
  request.test = folder.write("test.csv", "3,4,1\n5,6,0\n7,8,1\n").string();
  EXPECT_EQ(load_test(request).value().size(), 3U);
  folder.write("train.csv", "damaged");
  EXPECT_FALSE(load_data(request));
  EXPECT_EQ(load_test(request).value().labels, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(LoadData, RefusesWithTheNearestName) {
  const auto bad = load_data({.source = "minst"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kUsage);
  EXPECT_TRUE(contains(bad.error().message, "did you mean 'mnist'"));
}

TEST(LoadData, SaysWhereItLookedAndHowToGetIt) {
  const auto missing = load_data({.source = "mnist", .folder = "/nonexistent-folder"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(contains(missing.error().message, "in /nonexistent-folder"));
  EXPECT_TRUE(contains(missing.error().message, "mnist/train-images-idx3-ubyte.gz"));
  EXPECT_TRUE(contains(missing.error().message, "sotto data fetch mnist"));
  EXPECT_TRUE(contains(missing.error().message, "--data DIR"));

  const auto medical = load_data({.source = "medical-mnist", .folder = "/nonexistent-folder"});
  ASSERT_FALSE(medical);
  EXPECT_TRUE(contains(medical.error().message, "no official address"));
}

TEST(LoadData, RefusesPathsThatAreNotThereOrNotRecognised) {
  const auto gone = load_data({.source = "./gone.csv"});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
  const auto odd = load_data({.source = SOTTO_SOURCE_DIR "/CMakeLists.txt"});
  ASSERT_FALSE(odd);
  EXPECT_TRUE(contains(odd.error().message, "form not recognised; valid: IDX"));
}

TEST(LoadData, LabelsBelongToFormatsThatKeepThemApart) {
  const auto known = load_data({.source = "embedded", .labels = "y.npy"});
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().kind, ErrorKind::kUsage);
  const auto inside = load_data({.source = SOTTO_SOURCE_DIR "/CMakePresets.json", .labels = "y"});
  ASSERT_FALSE(inside);
  EXPECT_TRUE(contains(inside.error().message, "keeps its labels inside"));
}

/// The real sets, where SOTTO_DATA names a folder that has them.
class RealSet : public testing::TestWithParam<const char*> {};

TEST_P(RealSet, IsReadAsCatalogued) {
  const KnownSet& set = *find_known_set(GetParam());
  if (std::getenv("SOTTO_DATA") == nullptr || !find_files(set, std::getenv("SOTTO_DATA"))) {
    GTEST_SKIP() << "SOTTO_DATA names no folder with " << set.name;
  }
  const auto split = load_data({.source = GetParam(), .folder = std::getenv("SOTTO_DATA")});
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->train.size(), set.train_size);
  EXPECT_EQ(split->test.size(), set.test_size);
  EXPECT_EQ(split->train.shape, set.shape);
  EXPECT_EQ(split->train.classes, set.classes);
}

INSTANTIATE_TEST_SUITE_P(LoadData, RealSet,
                         testing::Values("mnist", "fashion-mnist", "cifar10", "medical-mnist"),
                         [](const auto& chosen) {
                           std::string name = chosen.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sotto
