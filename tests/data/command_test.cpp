// `sotto data` as people and scripts meet it: exit codes, messages, stable JSON keys.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto {
namespace {

namespace fs = std::filesystem;

struct Output {
  int code;
  std::string text;  // stdout and stderr
};

/// Runs the program with nothing in its cache and no data folder.
Output run(const std::string& arguments) {
  const std::string command = "env -u SOTTO_DATA XDG_CACHE_HOME=/nonexistent-cache '" SOTTO_PROGRAM
                              "' data " +
                              arguments + " 2>&1";
  Output output{-1, ""};
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

testing::AssertionResult says(const Output& output, int code, const std::string& part) {
  if (output.code == code && output.text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "code " << output.code << ", text " << output.text;
}

TEST(DataCommand, ListsWhatIsThereAndHowToGetTheRest) {
  const Output text = run("list");
  EXPECT_TRUE(says(text, 0, "built in"));
  EXPECT_TRUE(says(text, 0, "sotto data fetch mnist"));
  const Output output = run("list --json");
  ASSERT_EQ(output.code, 0);
  const auto json = nlohmann::ordered_json::parse(output.text);
  ASSERT_EQ(json["sets"].size(), 5U);
  for (const auto& set : json["sets"]) {
    EXPECT_EQ(keys(set),
              (std::vector<std::string>{"name", "summary", "shape", "classes", "train", "test",
                                        "present", "folder", "variant", "caution", "get"}));
    EXPECT_EQ(set["present"], set["name"] == "embedded");
  }
}

TEST(DataCommand, ChecksASet) {
  EXPECT_TRUE(says(run("check embedded"), 0, "12,000 train, 2,000 test"));
  const Output output = run("check embedded --json");
  ASSERT_EQ(output.code, 0);
  const auto json = nlohmann::ordered_json::parse(output.text);
  EXPECT_EQ(keys(json), (std::vector<std::string>{"name", "folder", "variant", "caution", "files",
                                                  "shape", "classes", "class_names", "train",
                                                  "test", "mean", "deviation"}));
  EXPECT_EQ(json["train"]["samples"], 12'000);
  EXPECT_EQ(json["test"]["class_counts"], std::vector<int>(10, 200));
  EXPECT_NEAR(json["mean"][0].get<double>(), 0.1124, 1e-4);
}

TEST(DataCommand, CheckRefusesAFileWithAnotherHash) {
  const fs::path folder = fs::temp_directory_path() / ("sotto-check-" + std::to_string(::getpid()));
  fs::create_directories(folder / "medical-mnist");
  { std::fclose(std::fopen((folder / "medical-mnist/medical-mnist.tar.gz").c_str(), "w")); }
  EXPECT_TRUE(
      says(run("check medical-mnist --data " + folder.string()), 1, "its sha256 is e3b0c442"));
  fs::remove_all(folder);
}

TEST(DataCommand, ShowsAPartition) {
  const Output text = run("show embedded --clients 50 --partition stratified");
  EXPECT_TRUE(says(text, 0, "... and 30 more clients"));
  EXPECT_TRUE(says(text, 0, "50 clients; samples: smallest 240, mean 240.0, largest 240"));
  const Output output = run("show embedded --clients 3 --partition 'shards(2)' --seed 4 --json");
  ASSERT_EQ(output.code, 0);
  const auto json = nlohmann::ordered_json::parse(output.text);
  EXPECT_EQ(keys(json), (std::vector<std::string>{"name", "partition", "seed", "clients", "sizes",
                                                  "class_names", "counts"}));
  EXPECT_EQ(json["counts"].size(), 3U);
  EXPECT_EQ(json["sizes"]["mean"], 4000.0);
}

TEST(DataCommand, DrawsAPicture) {
  const fs::path file =
      fs::temp_directory_path() / ("sotto-show-" + std::to_string(::getpid()) + ".svg");
  EXPECT_TRUE(says(run("show embedded --out " + file.string()), 0, "picture: " + file.string()));
  EXPECT_TRUE(fs::exists(file));
  fs::remove(file);
}

TEST(DataCommand, WrongUsageIsTwoAndNamesTheNearest) {
  EXPECT_TRUE(says(run("check mnits"), 2, "did you mean 'mnist'"));
  EXPECT_TRUE(says(run("fetch mnits"), 2, "did you mean 'mnist'"));
  EXPECT_TRUE(says(run("chekc mnist"), 2, "did you mean 'check'"));
  EXPECT_TRUE(says(run("show embedded --partition 'dirichlt(1)'"), 2, "did you mean 'dirichlet'"));
  EXPECT_TRUE(says(run("show embedded --clients 12001"), 2, "valid is [1, 12000]"));
}

TEST(DataCommand, MissingDataIsOneAndSaysHowToGetIt) {
  EXPECT_TRUE(says(run("check mnist"), 1, "/nonexistent-cache/sotto/data"));
  EXPECT_TRUE(says(run("show cifar10"), 1, "sotto data fetch cifar10"));
}

TEST(DataCommand, HelpHasExamples) {
  for (const char* command : {"", "list", "check", "fetch", "show"}) {
    EXPECT_TRUE(says(run(std::string(command) + " --help"), 0, "Examples:")) << command;
  }
}

}  // namespace
}  // namespace sotto
