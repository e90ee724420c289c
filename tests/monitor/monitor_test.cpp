#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/machine.h"
#include "monitor/board.h"
#include "monitor/metrics.h"
#include "monitor/spent.h"
#include "temporary_folder.h"

namespace sotto::monitor {
namespace {

using Json = nlohmann::ordered_json;

Event ended(std::uint64_t round, double accuracy, std::uint64_t released = 3) {
  Event event{What::kRoundEnded, round, 3, 3, released};
  event.accuracy = accuracy;
  event.loss = 1.5;
  event.seconds = 0.25;
  return event;
}

/// Every field that an event has.
Event full() {
  Event event = ended(7, 0.5);
  event.chunks = 12;
  event.epsilon = 4.0;
  event.delta = 0.0;
  event.kind = ErrorKind::kCorrupt;
  event.text = "why";
  return event;
}

TEST(Log, KeysAreStableAndNoneIsPrivate) {
  const Json line = Json::parse(log_line(1700000000.25, "server", full(), 2));
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"time", "role", "event", "round", "clients", "reports",
                                            "released", "chunks", "accuracy", "loss", "epsilon",
                                            "delta", "seconds", "kind", "text", "suppressed"}));
  EXPECT_EQ(line["time"], "2023-11-14T22:13:20.250Z");
  EXPECT_EQ(line["event"], "round-ended");
  EXPECT_EQ(line["kind"], "corrupt");
}

TEST(Log, OneLineWhateverAReasonHolds) {
  const std::string line =
      log_line(0.0, "server", refusal({ErrorKind::kCorrupt, "bad\nline \xff\xfe \"quoted\""}));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_TRUE(Json::parse(line, nullptr, false).is_object());
  const std::string hidden =
      log_line(0.0, "server", refusal({ErrorKind::kCorrupt, "\x1b[8m \u009b8m \u202e"}));
  EXPECT_TRUE(
      std::ranges::all_of(hidden, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
}

TEST(Log, InfinityIsNull) {
  Event event{What::kBudgetSpent, 1};
  event.epsilon = HUGE_VAL;
  EXPECT_TRUE(Json::parse(log_line(0.0, "server", event))["epsilon"].is_null());
}

TEST(Log, AppendsWholeLinesToAFile) {
  const TemporaryFolder folder;
  const std::string file = (folder / "fed.log").string();
  for (int turn = 0; turn < 2; ++turn) {
    Board board({"server", "t", 5, 3}, std::move(*Log::open(file)));
    board.note({What::kStarted});
    board.note(ended(1, 0.5));
  }
  std::ifstream lines(file);
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    events.push_back(Json::parse(line)["event"]);
  }
  EXPECT_EQ(events, (std::vector<std::string>{"started", "round-ended", "started", "round-ended"}));
  EXPECT_FALSE(Log::open((folder / "no" / "such.log").string()).has_value());
}

TEST(Board, CountsAllRefusalsAndWritesFew) {
  const TemporaryFolder folder;
  const std::string file = (folder / "fed.log").string();
  Board board({"server", "t", 5, 3}, std::move(*Log::open(file)));
  for (int i = 0; i < 5000; ++i) board.note(refusal({ErrorKind::kCorrupt, "garbage"}));
  board.note({What::kStopping});
  const State state = board.state();
  EXPECT_EQ(state.refused.at(ErrorKind::kCorrupt), 5000U);
  std::ifstream lines(file);
  std::uint64_t written = 0;
  std::uint64_t suppressed = 0;
  for (std::string line; std::getline(lines, line); ++written) {
    suppressed += Json::parse(line).value("suppressed", std::uint64_t{0});
  }
  EXPECT_LT(written, 1000U);  // ten a second, on the slowest machine too
  EXPECT_EQ(written + suppressed, 5001U);
}

TEST(Board, RefusalsAreCountedByNameAndStayOutOfTheEvents) {
  Board board({"server", "t", 5, 3});
  board.note({What::kStarted});
  for (int i = 0; i < 3; ++i) board.note(refusal({ErrorKind::kRefused, "stale: signed long ago"}));
  board.note(refusal({ErrorKind::kIo, "busy: 64 calls"}));
  board.note(refusal({ErrorKind::kCorrupt, "the batch of 'Name: x' is short"}));
  const Json json = to_json(board.state());
  ASSERT_EQ(json["refusals"].size(), 3U);
  EXPECT_EQ(json["refusals"][0]["name"], "busy");
  EXPECT_EQ(json["refusals"][0]["kind"], "io");
  EXPECT_EQ(json["refusals"][1]["name"], "corrupt") << "no name of its own";
  EXPECT_EQ(json["refusals"][2]["name"], "stale");
  EXPECT_EQ(json["refusals"][2]["count"], 3);
  EXPECT_EQ(json["refusals"][2]["text"], "stale: signed long ago");
  EXPECT_EQ(json["refused"], 5);
  ASSERT_EQ(json["events"].size(), 1U);
  EXPECT_EQ(json["events"][0]["event"], "started");
}

TEST(Board, NamesOfRefusalsAreBounded) {
  Board board({"server", "t", 5, 3});
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      board.note(refusal({ErrorKind::kRefused, std::string{a, b} + ": made up"}));
    }
  }
  const State state = board.state();
  EXPECT_LE(state.refusals.size(), 33U);
  EXPECT_EQ(state.refusals.at("other").count, 26U * 26U - 32U);
}

TEST(Board, SaysWhatTheShufflerHoldsAndWhatTimeIsLeft) {
  const TemporaryFolder folder;
  const std::string file = (folder / "fed.log").string();
  Facts facts{"server", "t", 5, 4};
  facts.shuffled = true;
  Board board(facts, std::move(*Log::open(file)));
  board.note({What::kRoundBegan, 1, 4});
  EXPECT_TRUE(to_json(board.state())["seconds_left"].is_null());
  Event clock{What::kClockStarted, 1};
  clock.seconds = 60.0;
  board.note(clock);
  Event held{What::kReportsHeld, 1};
  held.reports = 3;
  board.note(held);
  held.round = 7;  // of another round
  held.reports = 4;
  board.note(held);
  const Json json = to_json(board.state());
  EXPECT_EQ(json["held"], 3);
  EXPECT_EQ(json["asked"], 4);
  EXPECT_EQ(json["round_reports"], 0) << "held is not taken";
  EXPECT_EQ(json["shuffled"], true);
  EXPECT_GT(json["seconds_left"].get<double>(), 30.0);
  EXPECT_LE(json["seconds_left"].get<double>(), 60.0);
  EXPECT_NE(metrics_text(board.state()).find("sotto_reports_held 3\n"), std::string::npos);
  board.note({What::kRoundBegan, 2, 4});
  EXPECT_EQ(to_json(board.state())["held"], 0);
  EXPECT_TRUE(to_json(board.state())["seconds_left"].is_null());
  std::ifstream lines(file);
  const std::string log((std::istreambuf_iterator<char>(lines)), std::istreambuf_iterator<char>());
  EXPECT_NE(log.find("clock-started"), std::string::npos);
  EXPECT_EQ(log.find("reports-held"), std::string::npos) << "a line for every report";
}

TEST(Board, SaysWhatProtectsNobody) {
  Facts facts{"server", "t", 5, 3};
  EXPECT_TRUE(to_json(Board(facts).state())["promise"].is_null());
  facts.rehearsal = true;
  facts.promise = {{152327.0, 1e-6, true}};
  const Json json = to_json(Board(facts).state());
  EXPECT_EQ(json["rehearsal"], true);
  EXPECT_EQ(json["promise"]["vacuous"], true);
  EXPECT_EQ(json["promise"]["epsilon"], 152327.0);
  facts.promise->epsilon = HUGE_VAL;
  EXPECT_TRUE(to_json(Board(facts).state())["promise"]["epsilon"].is_null());
}

TEST(Board, ARoundThatIsDoneAgainReplacesItself) {
  Board board({"server", "t", 5, 3});
  board.restore({{1, 0.1, {}, 3, 3}, {2, 0.2, {}, 3, 3}});
  board.note(ended(2, 0.25));
  board.note(ended(3, 0.3, 0));
  const State state = board.state();
  ASSERT_EQ(state.curve.size(), 3U);
  EXPECT_EQ(state.curve[1].accuracy, 0.25);
  EXPECT_EQ(state.rounds_ended, 2U);
  EXPECT_EQ(state.rounds_withheld, 1U);
}

TEST(Board, ALongCurveIsThinnedAndKeepsItsEnd) {
  Board board({"server", "t", 100000, 3});
  std::vector<Point> points;
  for (std::uint64_t i = 1; i <= 10001; ++i) points.push_back({i, 0.5, {}, 3, 3});
  board.restore(points);
  const Json curve = to_json(board.state())["curve"];
  EXPECT_LE(curve.size(), 401U);
  EXPECT_EQ(curve.back()["round"], 10001);
}

TEST(Board, WaitsForNewsAndNotForever) {
  Board board({"server", "t", 5, 3});
  const std::uint64_t seen = board.wait(0, 0.0);
  EXPECT_EQ(board.wait(seen, 0.01), seen);
  board.note({What::kStarted});
  EXPECT_GT(board.wait(seen, 10.0), seen);
  board.close();
  EXPECT_TRUE(board.closed());
  board.wait(1000, 600.0);  // returns at once
}

/// A line of the text format is a comment or a series and its value.
TEST(Metrics, TextFormatIsValid) {
  for (const char* role : {"server", "shuffler", "client"}) {
    Board board({role, "a \"title\"", 5, 3});
    board.note({What::kRoundBegan, 1, 3});
    board.note({What::kReportAccepted, 1});
    board.note(refusal({ErrorKind::kCorrupt, "x"}));
    board.note(ended(1, 0.75));
    Event spent{What::kBudgetSpent, 1};
    spent.epsilon = HUGE_VAL;
    board.note(spent);
    const std::regex help("# HELP ([a-z_]+) [^\\n]+");
    const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
    const std::regex series(
        "([a-z_]+)(\\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\\})? ([-+]?[0-9.e+-]+|[+-]Inf|NaN)");
    std::set<std::string> typed;
    std::string text = metrics_text(board.state());
    ASSERT_EQ(text.back(), '\n');
    std::istringstream lines(text);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_match(line, match, help)) continue;
      if (std::regex_match(line, match, type)) {
        EXPECT_TRUE(typed.insert(match[1]).second) << "typed twice: " << line;
        last = match[1];
        EXPECT_EQ(last.ends_with("_total"), match[2] == "counter") << line;
        continue;
      }
      ASSERT_TRUE(std::regex_match(line, match, series)) << line;
      EXPECT_EQ(match[1], last) << "a series apart from its type: " << line;
    }
    EXPECT_NE(text.find("sotto_reports_refused_total{kind=\"corrupt\"} 1\n"), std::string::npos);
    EXPECT_NE(text.find("sotto_reports_accepted_total 1\n"), std::string::npos);
    EXPECT_NE(text.find("sotto_epsilon_spent +Inf\n"), std::string::npos);
    EXPECT_EQ(text.find("sotto_accuracy 0.75\n") != std::string::npos,
              std::string(role) == "server");
  }
  EXPECT_GT(resident_bytes(), 1000000U);
}

TEST(Spent, AddsUpOverRestartsAndCountsARoundOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "spent.json";
  {
    auto spent = Spent::open(file, 0).value();
    ASSERT_TRUE(spent.add(1, 0.1, 0.0));
    ASSERT_TRUE(spent.add(2, 0.2, 0.0));
    ASSERT_TRUE(spent.add(2, 0.2, 0.0));
    EXPECT_GE(spent.epsilon(), 0.30000000000000004);
    EXPECT_LT(spent.epsilon(), 0.3000001);
  }
  {
    // Killed in round 2, which begins anew.
    auto spent = Spent::open(file, 1).value();
    ASSERT_TRUE(spent.add(2, 0.2, 0.0));
    EXPECT_LT(spent.epsilon(), 0.3000001);
    ASSERT_TRUE(spent.add(3, 0.3, 1e-6));
    EXPECT_GE(spent.epsilon(), 0.6);
    EXPECT_EQ(spent.delta(), 1e-6);
  }
  EXPECT_EQ(Spent::open(file, 0).value().epsilon(), 0.0) << "of a training that was replaced";
}

TEST(Spent, WhatIsNotKnownIsInfinite) {
  const TemporaryFolder folder;
  EXPECT_TRUE(std::isinf(Spent::open(folder / "none.json", 2).value().epsilon()));
  for (const char* text :
       {"", "[]", "{\"round\": 1, \"epsilon\": 1.0, \"delta\": 0}",
        "{\"round\": 5, \"epsilon\": null, \"delta\": 0}",
        "{\"round\": 5, \"epsilon\": -1.0, \"delta\": 0}", "{\"round\": \"x\"}"}) {
    auto spent = Spent::open(folder.write("spent.json", text), 2).value();
    EXPECT_TRUE(std::isinf(spent.epsilon())) << text;
    ASSERT_TRUE(spent.add(6, 1.0, 0.0));
    EXPECT_TRUE(std::isinf(spent.epsilon())) << text;
  }
}

}  // namespace
}  // namespace sotto::monitor
