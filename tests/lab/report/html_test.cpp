// The page: whole, balanced, silent towards the network, deaf to hostile names; and its writing.
#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>

#include "balanced.h"
#include "record/claim_json.h"
#include "record/run_fixture.h"
#include "report/report.h"

namespace sotto {
namespace {

using nlohmann::ordered_json;

ordered_json baseline(const std::string& name) {
  ordered_json run = run_json(name);
  run["privacy"] = {{"mechanism", "none"},
                    {"claims", ordered_json::array(
                                   {claim_json<ordered_json>({Scope{}, HUGE_VAL, 0.0, "none"})})}};
  return run;
}

class ReportTest : public testing::Test {
 protected:
  std::string page_of(const std::vector<ordered_json>& runs, const std::string& title = "") {
    std::vector<std::filesystem::path> folders;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      folders.push_back(write_run(folder_, "run" + std::to_string(i), runs[i]));
    }
    const auto records = read_runs(folders);
    EXPECT_TRUE(records) << records.error().message;
    return render_report(*records, title);
  }
  TemporaryFolder folder_;
};

bool holds(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

TEST_F(ReportTest, ARunIsCalledByItsStrongestProvenClaimAboutAClient) {
  const auto claim = [](Scope scope, double epsilon, const char* assumption,
                        Status status = Status::kProven) {
    return claim_json<ordered_json>({scope, epsilon, 1e-6, "t", assumption, status, "s"});
  };
  ordered_json run = run_json();
  run["privacy"]["claims"] = {claim({.unit = Unit::kWeight, .period = Period::kRound}, 0.01, ""),
                              claim({}, 0.02, "they say so", Status::kPublished),
                              claim({}, 40.0, ""),
                              claim({.period = Period::kRound, .view = View::kShuffler}, 0.03, ""),
                              claim({.view = View::kShuffler}, 2.5, "a shuffler"),
                              claim({}, 0.04, "", Status::kMeasured)};
  const std::string page = page_of({run});
  EXPECT_TRUE(holds(page, "Each client has epsilon 2.5, delta 1e-06."));
  EXPECT_TRUE(holds(page, "This assumes: a shuffler."));
  for (const char* verdict : {"not a client&#39;s", "not proven", "measured"}) {
    EXPECT_TRUE(holds(page, verdict)) << verdict;
  }
  EXPECT_FALSE(holds(page, "has not finished"));
  run["privacy"]["planned"] = true;
  EXPECT_TRUE(holds(page_of({run}), "has not finished"));
}

TEST_F(ReportTest, OneRunIsShownWhole) {
  const std::string page = page_of({run_json()});
  EXPECT_EQ(unbalanced(page), "");
  for (const char* text :
       {"<h1>srr-mnist</h1>", "20,490", "98.00\xC2\xA0%", "98.10\xC2\xA0%", "Accuracy by round",
        "Loss by round", "7.821, delta 1e-05", "163,920", "basic composition",
        "This assumes: the shuffler is honest.", "learning_rate", "LibTorch 1.13.1, CPU",
        "recipes/srr-mnist.toml", "37.0 MB"}) {
    EXPECT_TRUE(holds(page, text)) << text;
  }
}

TEST_F(ReportTest, SeveralRunsAreOverlaid) {
  const std::string page = page_of({run_json("first"), baseline("second")}, "A & B");
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_TRUE(holds(page, "<h1>A &amp; B</h1>"));
  EXPECT_TRUE(holds(page, "<title>first: round 1, 95.10\xC2\xA0%</title>"));
  EXPECT_TRUE(holds(page, "<title>second: round 1, 95.10\xC2\xA0%</title>"));
  EXPECT_TRUE(holds(page, "href=\"#run-2\""));
  EXPECT_TRUE(holds(page, "id=\"run-2\""));
}

TEST_F(ReportTest, NoPrivacyIsSaidInPlainWords) {
  const std::string none = page_of({baseline("base")});
  EXPECT_TRUE(holds(none, "<b>No privacy.</b>"));
  EXPECT_TRUE(holds(none, "infinite (no privacy)"));

  ordered_json infinite = baseline("infinite");
  infinite["privacy"]["mechanism"] = "srr";
  EXPECT_TRUE(holds(page_of({infinite}), "<b>No privacy: epsilon is infinite.</b>"));

  ordered_json vacuous = run_json();
  vacuous["privacy"]["claims"].erase(1);
  const std::string page = page_of({vacuous});
  EXPECT_TRUE(holds(page, "<b>Vacuous: epsilon 163,920 protects nobody.</b>"));
  EXPECT_FALSE(holds(page, "banner good"));

  ordered_json silent = run_json();
  silent["privacy"]["claims"] = ordered_json::array();
  EXPECT_TRUE(holds(page_of({silent}), "<b>No privacy is claimed for a client"));
}

TEST_F(ReportTest, AsksNobodyForAnything) {
  const std::string page = page_of({run_json(), baseline("base")});
  EXPECT_FALSE(holds(page, "<script"));
  EXPECT_FALSE(holds(page, "<link"));
  EXPECT_FALSE(holds(page, "@import"));
  EXPECT_FALSE(holds(page, "url("));
  EXPECT_FALSE(holds(page, " src="));
  EXPECT_TRUE(holds(page, "default-src 'none'"));
  const std::regex reference("href=\"([^\"]*)\"");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), reference);
       it != std::sregex_iterator(); ++it) {
    EXPECT_EQ((*it)[1].str().front(), '#') << (*it)[1];
  }
}

TEST_F(ReportTest, HostileTextStaysText) {
  const std::string evil = "\"><script>alert(1)</script><img src=x onerror=alert(2)>&\x01'";
  ordered_json run = run_json(evil);
  for (const char* key : {"recipe_file", "started"}) run[key] = evil;
  for (const char* key : {"name", "device"}) run["model"][key] = evil;
  for (const char* key : {"name", "partition"}) run["data"][key] = evil;
  run["stopped"] = evil;
  run["recipe"][evil] = {{evil, evil}};
  run["recipe"]["bare"] = evil;
  run["versions"][evil] = evil;
  run["timings"][evil] = 1.0;
  run["privacy"]["mechanism"] = evil;
  for (auto& claim : run["privacy"]["claims"]) {
    for (const char* key : {"theorem", "assumption", "source"}) claim[key] = evil;
  }
  ordered_json twin = run;
  const std::string page = page_of({run, twin}, evil);
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_FALSE(holds(page, "<script"));
  EXPECT_FALSE(holds(page, "<img"));
  EXPECT_FALSE(holds(page, "\x01"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;"));
}

TEST_F(ReportTest, RunsOfTheSameNameAreToldApart) {
  std::vector<RunRecord> runs(3);
  runs[0].name = runs[1].name = "same";
  runs[2].name = "other";
  runs[0].folder = "a/one";
  runs[1].folder = "a/two";
  EXPECT_EQ(run_labels(runs), (std::vector<std::string>{"same (one)", "same (two)", "other"}));
  runs[1].folder = "b/one";
  EXPECT_EQ(run_labels(runs)[1], "same (b/one)");
}

TEST_F(ReportTest, ManyRoundsDoNotMakeAHugePage) {
  std::string metrics;
  for (int round = 1; round <= 20'000; ++round) metrics += metrics_line(round, "0.5", "0.7");
  const auto path = write_run(folder_, "long", run_json(), metrics);
  const auto runs = read_runs({path});
  ASSERT_TRUE(runs);
  const std::string page = render_report(*runs);
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_LT(page.size(), 400'000U);
  EXPECT_TRUE(holds(page, "20,000 rounds as numbers (one in 40 and the last)"));
}

TEST_F(ReportTest, IsWrittenBesideTheRunOrWhereAsked) {
  const auto run = write_run(folder_, "run", run_json());
  const auto beside = write_report({run});
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_EQ(*beside, run / "report.html");
  EXPECT_EQ(default_report_path({run, run}), "report.html");
  const auto elsewhere = write_report({run}, folder_.path() / "new" / "page.html", "Title");
  ASSERT_TRUE(elsewhere) << elsewhere.error().message;
  std::ifstream file(*elsewhere);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(holds(page, "<h1>Title</h1>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(TemporaryFolder::entries(folder_.path() / "new"), 1);
}

TEST_F(ReportTest, ABadRunLeavesNoPage) {
  const auto run = write_run(folder_, "run", run_json(), "oops\n");
  EXPECT_FALSE(write_report({run}));
  EXPECT_FALSE(std::filesystem::exists(run / "report.html"));
  const auto good = write_run(folder_, "good", run_json());
  const auto twice = write_report({good, good / "."}, folder_.path() / "x.html");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::kUsage);
  EXPECT_TRUE(holds(twice.error().message, "named twice"));
}

TEST_F(ReportTest, JsonHasTheMergedRecords) {
  const auto runs =
      read_runs({write_run(folder_, "a", run_json("a")), write_run(folder_, "b", baseline("b"))});
  ASSERT_TRUE(runs);
  const auto json = nlohmann::json::parse(report_json(*runs));
  ASSERT_EQ(json["runs"].size(), 2U);
  EXPECT_EQ(json["runs"][0]["name"], "a");
  EXPECT_EQ(json["runs"][0]["final"]["accuracy"], 0.98);
  EXPECT_EQ(json["runs"][0]["best"]["round"], 2);
  EXPECT_EQ(json["runs"][0]["rounds"].size(), 3U);
  EXPECT_TRUE(json["runs"][0]["rounds"][2]["accuracy"].is_null());
  EXPECT_EQ(json["runs"][1]["privacy"]["mechanism"], "none");
  EXPECT_TRUE(json["runs"][1]["privacy"]["claims"][0]["epsilon"].is_null());
  EXPECT_EQ(json["runs"][1]["privacy"]["claims"][0]["scope"], "client, whole training");
  EXPECT_EQ(json["runs"][1]["privacy"]["claims"][0]["status"], "proven");
}

}  // namespace
}  // namespace sotto
