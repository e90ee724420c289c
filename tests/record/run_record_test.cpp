// Reading run folders: what is right is read whole, what is wrong is refused with its place.
#include "record/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "record/begun_run.h"
#include "record/claim_json.h"
#include "record/run_fixture.h"

namespace sotto {
namespace {

using nlohmann::ordered_json;

class RunRecordTest : public testing::Test {
 protected:
  Result<RunRecord> read(const ordered_json& run, const std::string& metrics = good_metrics()) {
    return read_run(write_run(folder_, "run", run, metrics));
  }
  /// Expects an error whose text holds all of `parts`.
  static void expect_error(const Result<RunRecord>& result, ErrorKind kind,
                           const std::vector<std::string>& parts) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, kind) << result.error().message;
    for (const std::string& part : parts) {
      EXPECT_NE(result.error().message.find(part), std::string::npos)
          << "'" << part << "' is not in: " << result.error().message;
    }
  }
  void expect_corrupt(const ordered_json& run) {
    const auto begun = read_begun(write_run(folder_, "run", run, ""));
    ASSERT_FALSE(begun) << run;
    EXPECT_EQ(begun.error().kind, ErrorKind::kCorrupt);
  }
  TemporaryFolder folder_;
};

TEST_F(RunRecordTest, WhatIsDoneIsKnownWithoutTheRest) {
  EXPECT_FALSE(read_begun(folder_ / "nothing").value());
  for (const auto& [status, name] : kRunStatusNames) {
    ordered_json run = run_json();
    run["status"] = name;
    run.erase("privacy");  // whatever a report would need
    const auto begun = read_begun(write_run(folder_, "run", run, ""));
    ASSERT_TRUE(begun && *begun) << name;
    EXPECT_EQ((*begun)->status, status);
    EXPECT_EQ((*begun)->recipe["train"]["optimizer"], "sgd");
  }
  for (const char* const key : {"status", "recipe"}) {
    ordered_json run = run_json();
    run.erase(key);
    expect_corrupt(run);
  }
  ordered_json run = run_json();
  run["status"] = "done";
  expect_corrupt(run);
  run["status"] = 1;
  expect_corrupt(run);
  expect_corrupt(ordered_json::array());
}

TEST_F(RunRecordTest, ReadsEverything) {
  const auto record = read(run_json());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->name, "srr-mnist");
  EXPECT_EQ(record->recipe.size(), 6U);
  EXPECT_EQ(record->recipe[2].name, "train");
  const TextPairs train = {
      {"optimizer", "sgd"}, {"learning_rate", "0.1"}, {"schedule.warm", "true"}};
  EXPECT_EQ(record->recipe[2].entries, train);
  EXPECT_EQ(record->recipe[4].entries[1].second, "0.075, 0.05");
  EXPECT_EQ(record->parameters, 20490U);
  EXPECT_EQ(record->clients, 100U);
  EXPECT_EQ(record->stopped, "rounds");
  EXPECT_DOUBLE_EQ(record->total_seconds(), 12.5);
  ASSERT_TRUE(record->final && record->best);
  EXPECT_EQ(record->final->loss, 0.06);
  EXPECT_EQ(record->best->accuracy, 0.981);
  EXPECT_FALSE(record->best->loss);
  ASSERT_EQ(record->rounds.size(), 3U);
  EXPECT_EQ(record->rounds[0].accuracy, 0.951);
  EXPECT_FALSE(record->rounds[1].loss);
  EXPECT_FALSE(record->rounds[2].accuracy);
  EXPECT_EQ(record->bytes_up(), 3U * 12345678U);
  EXPECT_TRUE(record->notes.empty());
}

TEST_F(RunRecordTest, TheClientsClaimIsTheStrongestOverTheWholeTraining) {
  const auto record = read(run_json());
  ASSERT_TRUE(record);
  ASSERT_NE(record->client_claim(), nullptr);
  EXPECT_EQ(record->client_claim()->epsilon, 7.8205);  // not the 0.5 of one round
}

TEST_F(RunRecordTest, RefusedAndReleasedMayBeMissingInOlderRuns) {
  const auto older = read(run_json());
  ASSERT_TRUE(older);
  EXPECT_EQ(older->rounds[0].refused, 0U);
  EXPECT_EQ(older->rounds[0].released, 100U);
  std::string line = metrics_line(1, "0.9", "0.1");
  line.insert(1, "\"refused\":30,\"released\":0,");
  const auto newer = read(run_json(), line);
  ASSERT_TRUE(newer) << newer.error().message;
  EXPECT_EQ(newer->rounds[0].refused, 30U);
  EXPECT_EQ(newer->rounds[0].released, 0U);
}

TEST_F(RunRecordTest, NullEpsilonIsInfinite) {
  ordered_json run = run_json();
  run["privacy"]["claims"][1] = run["privacy"]["claims"][2];
  run["privacy"]["claims"][0]["epsilon"] = nullptr;
  const auto record = read(run);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_TRUE(std::isinf(record->client_claim()->epsilon));
}

/// A record as version 0.1.0 wrote it, before claims had types: of a run of two rounds behind a
/// shuffler, with the program's name of the machine cut.
TEST_F(RunRecordTest, ARecordOfTheOlderFormatIsReadWhole) {
  const auto record = read_run(SOTTO_SOURCE_DIR "/tests/record/v1");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->rounds.size(), 2U);
  ASSERT_EQ(record->claims.size(), 10U);
  EXPECT_EQ(record->claims[0].scope, (Scope{.unit = Unit::kWeight, .period = Period::kRound}));
  EXPECT_EQ(record->claims[5].status, Status::kPublished);
  EXPECT_EQ(record->claims[5].authors, "Sun, Qian, Chen 2021 (LDP-FL), Algorithm 2");
  EXPECT_TRUE(record->claims[3].authors.empty());
  EXPECT_EQ(record->claims[9].scope,
            (Scope{.view = View::kShuffler, .colluders = Colluders::kHalf}));
  ASSERT_NE(record->client_claim(), nullptr);
  EXPECT_EQ(record->client_claim(), &record->claims[7]);  // not those with colluders
  const auto json = ordered_json::parse(
      std::ifstream(SOTTO_SOURCE_DIR "/tests/record/v1/run.json"))["privacy"]["claims"];
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto again = claim_json<ordered_json>(record->claims[i]);
    for (const auto& [key, value] : json[i].items()) EXPECT_EQ(again[key], value) << key;
  }
}

TEST_F(RunRecordTest, TheOlderFormatHasKnownScopesAlone) {
  ordered_json run = run_json();
  run["format"] = "sotto.run.v1";
  for (ordered_json& claim : run["privacy"]["claims"]) {
    for (const char* key : {"unit", "period", "view", "colluders", "status"}) claim.erase(key);
  }
  EXPECT_TRUE(read(run));
  run["privacy"]["claims"][2]["scope"] = "client, one roundd";
  expect_error(read(run), ErrorKind::kCorrupt,
               {"'privacy.claims[2].scope' must be a scope that claims have (there is 'client, one "
                "round'), but is \"client, one roundd\""});
  // What claims the newer format must have its types.
  run["format"] = "sotto.run.v2";
  expect_error(read(run), ErrorKind::kCorrupt, {"'privacy.claims[0].unit' is missing"});
}

TEST_F(RunRecordTest, UnknownKeysArePassedOver) {
  ordered_json run = run_json();
  run["weather"] = "fine";
  EXPECT_TRUE(read(run, "{\"extra\":1," + metrics_line(1, "0.5", "1").substr(1)));
}

TEST_F(RunRecordTest, EveryRequiredKeyIsMissed) {
  for (const char* path : {"/format",
                           "/name",
                           "/recipe",
                           "/recipe_file",
                           "/seed",
                           "/threads",
                           "/versions",
                           "/started",
                           "/status",
                           "/model",
                           "/model/name",
                           "/model/parameters",
                           "/model/device",
                           "/data",
                           "/data/name",
                           "/data/train",
                           "/data/test",
                           "/data/clients",
                           "/data/partition",
                           "/timings",
                           "/final",
                           "/final/round",
                           "/final/accuracy",
                           "/best",
                           "/privacy",
                           "/privacy/mechanism",
                           "/privacy/claims",
                           "/privacy/claims/0/scope",
                           "/privacy/claims/0/epsilon",
                           "/privacy/claims/0/delta",
                           "/privacy/claims/0/theorem",
                           "/privacy/claims/0/assumption",
                           "/privacy/claims/0/source",
                           "/privacy/claims/0/vacuous",
                           "/privacy/claims/0/unit",
                           "/privacy/claims/0/period",
                           "/privacy/claims/0/view",
                           "/privacy/claims/0/colluders",
                           "/privacy/claims/0/status"}) {
    const std::string last = std::string(path).substr(std::string(path).rfind('/') + 1);
    const ordered_json run =
        run_json().patch(ordered_json::array({{{"op", "remove"}, {"path", path}}}));
    expect_error(read(run), ErrorKind::kCorrupt, {"run.json: '", last + "' is missing"});
  }
}

TEST_F(RunRecordTest, WrongTypesAndValuesAreNamed) {
  const std::vector<std::tuple<const char*, ordered_json, const char*>> cases = {
      {"/format", "sotto.run.v9",
       "'format' must be \"sotto.run.v2\" or \"sotto.run.v1\", but is \"sotto.run.v9\""},
      {"/name", 7, "'name' must be a string, but is 7"},
      {"/recipe", "x", "'recipe' must be an object"},
      {"/seed", -1, "'seed' must be a whole number of 0 or more, but is -1"},
      {"/seed", 1.5, "'seed' must be a whole number"},
      {"/status", "done", "'status' must be \"finished\", \"running\" or \"failed\""},
      {"/model/parameters", "many", "'model.parameters' must be a whole number"},
      {"/final/accuracy", 1.5, "'final.accuracy' must be a number between 0 and 1, but is 1.5"},
      {"/final/accuracy", "high", "'final.accuracy' must be a number"},
      {"/timings/train_seconds", -1, "'timings.train_seconds' must be a number between 0"},
      {"/timings/train_seconds", nullptr, "'timings.train_seconds' must be a number"},
      {"/privacy/claims", 3, "'privacy.claims' must be an array"},
      {"/privacy/claims/1", 3, "'privacy.claims[1]' must be an object"},
      {"/privacy/claims/1/epsilon", -2, "'privacy.claims[1].epsilon' must be a number of 0 or"},
      {"/privacy/claims/1/delta", 2, "'privacy.claims[1].delta' must be a number between 0 and 1"},
      {"/privacy/claims/1/vacuous", 0, "'privacy.claims[1].vacuous' must be true or false"},
      {"/privacy/claims/1/vacuous", true,
       "'privacy.claims[1].vacuous' must be false: epsilon is at most 50, but is true"},
      {"/privacy/claims/0/vacuous", false,
       "'privacy.claims[0].vacuous' must be true: epsilon is above 50, but is false"},
      {"/privacy/claims/1/period", "day",
       "'privacy.claims[1].period' must be one of \"round\", \"training\", but is \"day\""},
      {"/privacy/claims/1/view", "shuffler",
       "'privacy.claims[1].scope' must be \"client, whole training, after the shuffler\", as unit, "
       "period, view, colluders and status say, but is \"client, whole training\""},
      {"/privacy/claims/1/unit", "vector",
       "'privacy.claims[1].unit' must be of a claim that can be, together with period, view, "
       "colluders and status, but is \"vector\""},
  };
  for (const auto& [path, value, message] : cases) {
    const ordered_json run = run_json().patch(
        ordered_json::array({{{"op", "replace"}, {"path", path}, {"value", value}}}));
    expect_error(read(run), ErrorKind::kCorrupt, {"run.json: ", message});
  }
}

TEST_F(RunRecordTest, BadJsonHasItsLine) {
  const auto path = write_run(folder_, "run", run_json());
  folder_.write("run/run.json", "{\n\"format\": \"sotto.run.v2\",\n\"name\": oops\n}");
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json:3: not valid JSON"});
  folder_.write("run/run.json", "{\n\"seed\": 1e999\n}");
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json:2: not valid JSON", "1e999"});
  folder_.write("run/run.json", "{\n\"format\": ");
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json:2: ", "ends too early"});
  folder_.write("run/run.json", "");
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json:1: ", "ends too early"});
  folder_.write("run/run.json", "[]");
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json: not a JSON object"});
  folder_.write("run/run.json", std::string(9U << 20, ' '));
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json: ", "more than the limit"});
}

TEST_F(RunRecordTest, BadMetricsHaveTheirLine) {
  const std::string first = metrics_line(1, "0.5", "1");
  const auto bad = [&](const std::string& second, const std::vector<std::string>& parts) {
    expect_error(read(run_json(), first + second), ErrorKind::kCorrupt, parts);
  };
  bad("oops\n", {"metrics.jsonl:2: not valid JSON"});
  bad("\n", {"metrics.jsonl:2: not valid JSON"});
  bad("[1]\n", {"metrics.jsonl:2: not a JSON object"});
  bad(metrics_line(2, "NaN", "1"), {"metrics.jsonl:2: not valid JSON", "N"});
  bad(metrics_line(2, "1e999", "1"), {"metrics.jsonl:2: not valid JSON", "1e999"});
  bad(metrics_line(2, "1.01", "1"), {"metrics.jsonl:2: 'accuracy' must be", "but is 1.01"});
  bad(metrics_line(2, "\"0.9\"", "1"), {"metrics.jsonl:2: 'accuracy'"});
  bad(metrics_line(2, "0.9", "false"), {"metrics.jsonl:2: 'loss' must be a number, but is false"});
  bad(metrics_line(1, "0.9", "1"), {"metrics.jsonl:2: round 1 comes after round 1"});
  bad(metrics_line(-2, "0.9", "1"), {"metrics.jsonl:2: 'round' must be a whole number"});
  bad("{\"round\":2,\"client\":1}\n",
      {"metrics.jsonl:2: 'clients' is missing (there is 'client')"});
}

TEST_F(RunRecordTest, ATruncatedLastLineIsForgivenOnlyWhereTheRunDidNotFinish) {
  const std::string whole = good_metrics();
  ordered_json crashed = run_json();
  crashed["status"] = "failed";
  for (std::size_t cut = 2; cut < 150; cut += 7) {
    const std::string text = whole.substr(0, whole.size() - cut);
    const auto record = read(crashed, text);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->rounds.size(), 2U);
    ASSERT_EQ(record->notes.size(), 1U);
    EXPECT_NE(record->notes[0].find("Line 3"), std::string::npos);
    expect_error(read(run_json(), text), ErrorKind::kCorrupt, {"metrics.jsonl:3: not valid JSON"});
  }
  // A broken line that has its end was not cut off by a crash.
  expect_error(read(crashed, whole + "{\"round\":\n"), ErrorKind::kCorrupt, {"metrics.jsonl:4"});
  expect_error(read(crashed, "{\"round\":\n" + whole), ErrorKind::kCorrupt, {"metrics.jsonl:1"});
}

TEST_F(RunRecordTest, ARunThatGoesOnNeedNoOutcome) {
  ordered_json run = run_json();
  run["status"] = "running";
  run["stopped"] = nullptr;
  run["final"] = nullptr;
  run.erase("best");
  run.erase("timings");
  const auto record = read(run);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_FALSE(record->final || record->best || record->stopped);
  EXPECT_DOUBLE_EQ(record->total_seconds(), 3 * 3.2);
  EXPECT_TRUE(read(run, ""));
}

TEST_F(RunRecordTest, MissingFilesAreNamed) {
  expect_error(read_run(folder_.path() / "none"), ErrorKind::kNotFound, {"no such run folder"});
  expect_error(read_run(folder_.path()), ErrorKind::kNotFound, {"it has no run.json"});
  const auto path = write_run(folder_, "run", run_json());
  expect_error(read_run(folder_.path()), ErrorKind::kNotFound, {"runs below it: " + path.string()});
  std::filesystem::remove(path / "metrics.jsonl");
  expect_error(read_run(path), ErrorKind::kNotFound, {"metrics.jsonl: cannot be opened"});
}

TEST_F(RunRecordTest, DeepNestingIsNoTrouble) {
  const auto path = write_run(folder_, "run", run_json());
  folder_.write("run/run.json", std::string(1'000'000, '['));
  expect_error(read_run(path), ErrorKind::kCorrupt, {"run.json:1"});
}

}  // namespace
}  // namespace sotto
