// The catalogue, and where its files are looked for.
#include "data/known.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sotto {
namespace {

namespace fs = std::filesystem;

/// An empty folder that goes away, and environment variables that come back.
class KnownSets : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    for (const char* name : {"SOTTO_DATA", "XDG_CACHE_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      saved_.emplace_back(name,
                          value == nullptr ? std::nullopt : std::optional<std::string>(value));
    }
    ::unsetenv("SOTTO_DATA");
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
    }
    fs::remove_all(folder_);
  }
  static void put(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }

  fs::path folder_ = fs::temp_directory_path() / ("sotto-known-" + std::to_string(::getpid()));
  std::vector<std::pair<const char*, std::optional<std::string>>> saved_;
};

TEST_F(KnownSets, AreWellFormed) {
  ASSERT_EQ(known_sets().size(), 5U);
  for (const KnownSet& set : known_sets()) {
    EXPECT_EQ(find_known_set(set.name), &set);
    EXPECT_EQ(set.mean.size(), set.shape.channels) << set.name;
    EXPECT_EQ(set.deviation.size(), set.shape.channels) << set.name;
    EXPECT_TRUE(set.class_names.empty() ||
                set.class_names.size() == static_cast<std::size_t>(set.classes));
    for (const DataVariant& variant : set.variants) {
      ASSERT_FALSE(variant.files.empty());
      for (const DataFile& file : variant.files) {
        EXPECT_TRUE(file.path.starts_with(std::string(set.name) + "/")) << file.path;
        EXPECT_EQ(file.sha256.size(), 64U) << file.path;
        EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos)
            << file.path;
        EXPECT_TRUE(file.url.empty() || file.url.starts_with("http://") ||
                    file.url.starts_with("https://"))
            << file.url;
      }
    }
  }
  EXPECT_EQ(find_known_set("mnis"), nullptr);
}

TEST_F(KnownSets, CacheFollowsTheEnvironment) {
  EXPECT_EQ(data_cache(), folder_ / "cache" / "sotto" / "data");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(data_cache(), "/home/somebody/.cache/sotto/data");
}

TEST_F(KnownSets, FoldersAreTheGivenOneOrEnvironmentThenCache) {
  EXPECT_EQ(data_folders("here"), std::vector<fs::path>{"here"});
  EXPECT_EQ(data_folders(""), std::vector<fs::path>{data_cache()});
  ::setenv("SOTTO_DATA", "/there", 1);
  EXPECT_EQ(data_folders(""), (std::vector<fs::path>{"/there", data_cache()}));
  EXPECT_EQ(data_folders("here"), std::vector<fs::path>{"here"});
}

TEST_F(KnownSets, AllFilesMustBeThere) {
  const KnownSet& mnist = *find_known_set("mnist");
  const auto& files = mnist.variants.front().files;
  for (const DataFile& file : files) {
    EXPECT_FALSE(find_files(mnist, folder_));
    put(folder_ / file.path);
  }
  const auto found = find_files(mnist, folder_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->folder, folder_);
}

TEST_F(KnownSets, OfficialPixelsComeBeforeCopies) {
  const KnownSet& cifar = *find_known_set("cifar10");
  put(folder_ / "cifar10/cifar10-jpeg.tar.gz");
  auto found = find_files(cifar, folder_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->variant->caution.empty());
  put(folder_ / "cifar10/cifar-10-binary.tar.gz");
  found = find_files(cifar, folder_);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->variant->caution.empty());
}

TEST_F(KnownSets, TheNamedFolderComesBeforeTheCache) {
  const KnownSet& medical = *find_known_set("medical-mnist");
  put(data_cache() / "medical-mnist/medical-mnist.tar.gz");
  ::setenv("SOTTO_DATA", (folder_ / "mine").c_str(), 1);
  auto found = find_files(medical, "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->folder, data_cache());
  put(folder_ / "mine/medical-mnist/medical-mnist.tar.gz");
  found = find_files(medical, "");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->folder, folder_ / "mine");
}

}  // namespace
}  // namespace sotto
