// A client's own data against what the recipe says of samples, and what a run's folder must not
// lose.
#include "client/own_samples.h"

#include <gtest/gtest.h>

#include <limits>

#include "record/run_folder.h"
#include "temporary_folder.h"

namespace sotto {
namespace {

SampleForm form(std::int32_t classes = 3) { return {{1, 1, 2}, classes, {}}; }

Dataset samples(std::vector<float> values, std::vector<std::int32_t> labels) {
  Dataset data;
  data.shape = {1, 1, 2};
  data.values = std::move(values);
  data.labels = std::move(labels);
  data.classes = 1;
  return data;
}

TEST(SampleForm, IsTheRecipesWord) {
  Recipe recipe;
  recipe.data.name = "mnist";
  EXPECT_EQ(sample_form(recipe)->classes, 10);
  EXPECT_EQ(sample_form(recipe)->shape, (SampleShape{1, 28, 28}));
  recipe.data.name = "mine.csv";
  EXPECT_FALSE(sample_form(recipe));
  recipe.data.shape = {3, 4, 5};
  recipe.data.classes = 7;
  EXPECT_EQ(sample_form(recipe)->classes, 7);
  EXPECT_EQ(sample_form(recipe)->shape, (SampleShape{3, 4, 5}));
}

TEST(SampleForm, KeysAreReadStrictlyAndOldRecipesKeepTheirFingerprints) {
  const std::string text = "[data]\nname = \"mine.csv\"\n[model]\nname = \"linear\"\n";
  const auto plain = parse_recipe(text, "r");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->fingerprint(),
            "e782634a429896e5d603da3dc0cece71e4b4ac28db86157f0fc0ed523156917e");
  const auto with = [&](const std::vector<std::string>& settings) {
    return parse_recipe(text, "r", settings);
  };
  const auto said = with({"data.shape=[1, 2, 3]", "data.classes=4"});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_NE(said->fingerprint(), plain->fingerprint());
  EXPECT_NE(with({"data.shape=[1, 2, 3]", "data.classes=5"})->fingerprint(), said->fingerprint());
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"data.classes=4"},
           {"data.shape=[1, 2, 3]"},
           {"data.shape=[1, 2]", "data.classes=4"},
           {"data.shape=[1, 2, 0]", "data.classes=4"},
           {"data.shape=[1, 2, 3]", "data.classes=1"},
           {"data.shape=[1, 2, 3]", "data.classes=0"},
           {"data.name=mnist", "data.shape=[1, 28, 28]", "data.classes=10"},
           {"data.shape=[1, 2, 3]", "data.classes=2", "data.class_names=[\"a\"]"},
           {"data.shape=[1, 2, 3]", "data.classes=2", "data.class_names=[\"a\", \"a\"]"}}) {
    EXPECT_FALSE(with(wrong)) << wrong.front();
  }
  EXPECT_TRUE(with({"data.shape=[1, 2, 3]", "data.classes=2", "data.class_names=[\"a\", \"b\"]"}));
}

TEST(FittingSamples, LeavesOutWhatDoesNotFitInSilence) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::size_t left_out = 0;
  const Dataset fits = fitting_samples(
      samples({1, 2, 3, 4, nan, 6, 7, infinity, 9, 10}, {2, 3, 0, 1, 0}), form(), left_out);
  EXPECT_EQ(left_out, 3U);
  EXPECT_EQ(fits.labels, (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(std::get<std::vector<float>>(fits.values), (std::vector<float>{1, 2, 9, 10}));
  EXPECT_EQ(fits.classes, 3);
  SampleForm other = form();
  other.shape = {1, 2, 1};
  const Dataset none = fitting_samples(samples({1, 2}, {0}), other, left_out);
  EXPECT_EQ(left_out, 1U);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.shape, other.shape);
}

/// A client that lacks a class must not shift the others.
TEST(FittingSamples, NamedClassesAreFoundByName) {
  SampleForm named = form();
  named.class_names = {"cat", "dog", "eel"};
  Dataset data = samples({1, 2, 3, 4, 5, 6}, {0, 1, 2});
  data.class_names = {"dog", "eel", "fox"};
  std::size_t left_out = 0;
  const Dataset fits = fitting_samples(data, named, left_out);
  EXPECT_EQ(left_out, 1U);
  EXPECT_EQ(fits.labels, (std::vector<std::int32_t>{1, 2}));
}

TEST(RequireForm, AnOperatorsOwnDataMustFit) {
  DataSplit data{"set", samples({1, 2}, {0}), samples({3, 4}, {1})};
  ASSERT_TRUE(require_form(form(), data));
  EXPECT_EQ(data.train.classes, 3);
  data.test.labels[0] = 3;
  EXPECT_FALSE(require_form(form(), data));
  data.test.labels[0] = 1;
  data.test.shape = {1, 2, 1};
  EXPECT_FALSE(require_form(form(), data));
}

TEST(OwnSamples, AShareOfTooLittleIsNone) {
  const TemporaryFolder folder;
  Recipe recipe;
  recipe.data.name = "public.csv";
  recipe.federation.clients = 10;
  OwnData own;
  own.request.source = folder.write("a.csv", "1,2,0\n3,4,1\n5,6,2\n7,8,0\n").string();
  std::vector<std::string> notes;
  own.note = [&](const std::string& text) { notes.push_back(text); };
  const OwnSamples all = read_own_samples(recipe, form(), own).value();
  EXPECT_EQ(all.partition.client(0).size(), 4U);  // nothing is held out
  EXPECT_TRUE(notes.empty());
  own.share = 7;
  const OwnSamples none = read_own_samples(recipe, form(), own).value();
  EXPECT_EQ(none.partition.client(7).size(), 0U);
  EXPECT_EQ(notes.size(), 1U);
}

TEST(CheckSource, LooksAtNamesAndAtNothingInside) {
  const TemporaryFolder folder;
  const auto check = [](const std::string& source, const std::string& labels = "") {
    DataRequest request;
    request.source = source;
    request.labels = labels;
    return check_source(request);
  };
  EXPECT_TRUE(check("embedded"));
  EXPECT_TRUE(check(folder.write("a.csv", "garbage").string()));
  EXPECT_TRUE(check(folder.path().string()));
  EXPECT_FALSE(check((folder / "missing.csv").string()));
  EXPECT_FALSE(check(folder.write("a.txt", "1,2\n").string()));
  EXPECT_FALSE(check("no-such-set"));
  const std::string npy = folder.write("a.npy", "garbage").string();
  EXPECT_FALSE(check(npy));
  EXPECT_FALSE(check(npy, (folder / "missing.npy").string()));
  EXPECT_TRUE(check(npy, npy));
}

/// Whoever lost run.json has not said that the rest may go.
TEST(RunFolderRemains, AreNotErasedWithoutAWord) {
  for (const char* const name :
       {"checkpoint.sotto", "model.pt", "model.safetensors", "certificate.json"}) {
    const TemporaryFolder folder;
    folder.write(name, "work of days");
    RunOptions options;
    options.out = folder.path();
    const auto opened = RunFolder::open(options);
    ASSERT_FALSE(opened) << name;
    EXPECT_NE(opened.error().message.find(name), std::string::npos);
    EXPECT_NE(opened.error().message.find("--replace"), std::string::npos);
    options.replace = true;
    EXPECT_TRUE(RunFolder::open(options));
  }
}

}  // namespace
}  // namespace sotto
