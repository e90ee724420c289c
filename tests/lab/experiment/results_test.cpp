// What is said of a study: means and deviations, the worst epsilon of the seeds, sound files.
#include "experiment/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lab/report/balanced.h"
#include "record/claim_json.h"
#include "record/run_fixture.h"

namespace sotto {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Claim claim(double epsilon, double delta = 0.0) { return {Scope{}, epsilon, delta}; }

/// Two configurations of two seeds each, made by hand.
struct Fixture {
  Study study;
  Summary summary;
  Fixture() {
    study.name = "toy";
    study.title = "A toy & its <title>";
    study.seeds = {"1", "2"};
    for (const char* epsilon : {"1", "5"}) {
      Configuration configuration;
      configuration.label = std::string("SRR, epsilon = ") + epsilon;
      configuration.series = "SRR";
      configuration.varied = {{"privacy.epsilon", epsilon}};
      configuration.paper = PaperFigure{0.943, 0.943};
      study.configurations.push_back(configuration);
    }
    summary.study = &study;
    summary.axes = {{"privacy.epsilon", {"1", "5"}}};
    for (std::size_t i = 0; i < 2; ++i) {
      Finding finding;
      finding.configuration = &study.configurations[i];
      finding.accuracy = Statistic{2, 0.9 + 0.05 * static_cast<double>(i), 0.01};
      finding.mechanism = "srr";
      finding.client = claim(i == 0 ? 0.885 : kInfinity, 1e-6);
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        RunRecord run;
        run.name = "run";
        run.seed = seed;
        run.rounds.push_back({1, 1, 0, 1, 1, 0.5 + 0.1 * static_cast<double>(seed), {}});
        run.rounds.push_back({2, 1, 0, 1, 1, 0.8, {}});
        finding.runs.push_back(run);
      }
      summary.findings.push_back(finding);
    }
  }
};

TEST(Statistic, IsMeanAndSampleDeviation) {
  const Statistic statistic = statistic_of({0.90, 0.92, 0.97});
  EXPECT_DOUBLE_EQ(statistic.mean, 0.93);
  EXPECT_NEAR(statistic.deviation, std::sqrt(0.0026 / 2.0), 1e-12);
  EXPECT_EQ(statistic_of({0.5}).deviation, 0.0);
  EXPECT_EQ(statistic_of({}).count, 0U);
  EXPECT_EQ(accuracy_text({3, 0.9731, 0.0012}), "97.31 \u00b1 0.12 %");
  EXPECT_EQ(accuracy_text({1, 0.9731, 0.0}), "97.31 %");
}

TEST(Words, SayWhatAnEpsilonIsWorth) {
  EXPECT_EQ(epsilon_words(claim(kInfinity)), "infinite");
  EXPECT_EQ(epsilon_words(claim(614700.0)), "614,700 (vacuous)");
  EXPECT_EQ(epsilon_words(claim(0.8851, 1e-6)), "0.8851, delta 1e-06");
  EXPECT_EQ(epsilon_words(std::nullopt), "-");
  EXPECT_EQ(paper_text(PaperFigure{0.979, 0.979}), "97.9 %");
  EXPECT_EQ(paper_text(PaperFigure{0.1, 0.2}), "10-20 %");
}

/// A run that claims less for its clients than another seed's speaks for both.
TEST(Summarize, KeepsTheWorstEpsilonOfTheSeedsAndTheMeanOfTheirAccuracies) {
  const TemporaryFolder folder;
  auto first = run_json("seed=1");
  auto second = run_json("seed=2");
  second["privacy"]["claims"][1]["epsilon"] = 9.5;
  second["final"]["accuracy"] = 0.96;
  Study study;
  study.name = "toy";
  study.configurations.emplace_back().label = "srr";
  std::vector<StudyRun> runs(3);
  runs[0].out = write_run(folder, "seed=1", first);
  runs[1].out = write_run(folder, "seed=2", second);
  runs[2].name = "seed=3";
  const auto summary = summarize(study, runs, {{true}, {true}, {false, false, "no memory"}});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  const Finding& finding = summary->findings.front();
  EXPECT_EQ(finding.client->epsilon, 9.5);
  EXPECT_EQ(finding.client->delta, 1e-5);
  EXPECT_EQ(finding.accuracy->count, 2U);
  EXPECT_DOUBLE_EQ(finding.accuracy->mean, 0.97);
  ASSERT_EQ(finding.failed.size(), 1U);
  EXPECT_EQ(finding.failed.front().second, "no memory");
  EXPECT_FALSE(summary->complete());
  study.statistic = "best";
  EXPECT_DOUBLE_EQ(summarize(study, runs, {{true}, {true}, {false}})->findings[0].accuracy->mean,
                   0.981);
}

/// Each row of a finding is the claim that it is named after, wherever it stands in the table.
TEST(Summarize, ChoosesClaimsByWhatTheySay) {
  const TemporaryFolder folder;
  auto run = run_json("seed=1");
  const auto claim = [](Scope scope, double epsilon, Status status = Status::kProven) {
    return claim_json<nlohmann::ordered_json>({scope, epsilon, 0.0, "t", "", status});
  };
  run["privacy"]["claims"] = {
      claim({.view = View::kDelays}, 0.1),
      claim({}, 0.2, Status::kMeasured),
      claim({.unit = Unit::kWeight, .period = Period::kRound}, 0.3, Status::kPublished),
      claim({.unit = Unit::kEncodedRecord}, 9.0),
      claim({.unit = Unit::kRecord, .view = View::kSum}, 0.4, Status::kPublished),
      claim({.unit = Unit::kRecord}, 8.0),
      claim({.unit = Unit::kRecordFeatures}, 7.0),
      claim({}, 6.0),
      claim({}, 5.0),
      claim({.view = View::kShuffler}, 4.0),
      claim({.unit = Unit::kWeight, .period = Period::kRound}, 3.0)};
  Study study;
  study.configurations.emplace_back().label = "srr";
  std::vector<StudyRun> runs(1);
  runs[0].out = write_run(folder, "seed=1", run);
  const auto summary = summarize(study, runs, {{true}});
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  const Finding& finding = summary->findings.front();
  EXPECT_EQ(finding.unit->epsilon, 3.0);
  EXPECT_EQ(finding.record->epsilon, 8.0);
  EXPECT_EQ(finding.features->epsilon, 7.0);
  EXPECT_EQ(finding.published->epsilon, 0.3);
  EXPECT_EQ(finding.local->epsilon, 5.0);
  EXPECT_EQ(finding.client->epsilon, 4.0);
}

TEST(Results, JsonAndCsvHoldWhatWasFound) {
  Fixture fixture;
  const auto json = results_json(fixture.summary);
  EXPECT_EQ(json["format"], "sotto.study.v1");
  EXPECT_EQ(json["configurations"].size(), 2U);
  EXPECT_EQ(json["configurations"][0]["accuracy"], 0.9);
  EXPECT_TRUE(json["configurations"][1]["claims"]["client"]["epsilon"].is_null());
  EXPECT_EQ(json["configurations"][0]["paper"]["low"], 0.943);
  EXPECT_TRUE(json["complete"].get<bool>());
  const std::string csv = results_csv(fixture.summary);
  EXPECT_NE(csv.find("\"SRR, epsilon = 1\",1,2,0.9,0.01,0.943,0.943,,,0.885,1e-06,"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",inf,"), std::string::npos);
}

TEST(Results, OneFailedRunIsNotComplete) {
  Fixture fixture;
  fixture.summary.findings[1].failed.emplace_back("srr_epsilon=5_seed=2", "out of <memory>");
  EXPECT_FALSE(fixture.summary.complete());
  const std::string page = overlaid_page(fixture.summary, {});
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_NE(page.find("out of &lt;memory&gt;"), std::string::npos);
}

TEST(Figures, CurvesAreMeansOverSeeds) {
  Fixture fixture;
  const LineChart chart = rounds_chart(fixture.summary);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].second, 0.65);
  const auto charts = varied_charts(fixture.summary);
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].series.size(), 2U);  // measured, and the paper's
  EXPECT_EQ(charts[0].series[0].points[1].first, 5.0);
  EXPECT_DOUBLE_EQ(charts[0].series[0].points[1].second, 0.95);
  EXPECT_EQ(charts[0].series[0].errors[1], 0.01);
  EXPECT_FALSE(charts[0].series[1].line);
}

TEST(Figures, PrivacyHasAPlaceForNone) {
  Fixture fixture;
  const LineChart chart = privacy_chart(fixture.summary, {{"theirs", 614700.0, 0.96}});
  const std::string svg = to_svg(chart);
  EXPECT_EQ(unbalanced(svg), "");
  EXPECT_NE(svg.find(">infinite<"), std::string::npos);
  EXPECT_NE(svg.find(">theirs<"), std::string::npos);
}

TEST(Figures, AQuickStudyIsMarkedEverywhere) {
  Fixture fixture;
  fixture.study.quick = true;
  EXPECT_NE(rounds_chart(fixture.summary).title.find("quick"), std::string::npos);
  EXPECT_NE(bars_chart(fixture.summary).title.find("quick"), std::string::npos);
  EXPECT_NE(overlaid_page(fixture.summary, {}).find("Quick"), std::string::npos);
  EXPECT_TRUE(results_json(fixture.summary)["quick"].get<bool>());
  EXPECT_NE(results_csv(fixture.summary).find(",true\n"), std::string::npos);
}

}  // namespace
}  // namespace sotto
