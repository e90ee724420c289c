// Experiments that audit: their entries are valid, settings are read strictly, and a small one runs
// and is shown.
#include "experiment/audit_study.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sotto {
namespace {

Experiment parsed(const std::string& text) {
  const auto all = parse_experiments(text, "test", "test.toml");
  EXPECT_TRUE(all) << all.error().message;
  return all->front();
}

constexpr const char* kSmall = R"([[experiment]]
name = "small"
summary = "dummies"
measure = "audit"
set = ["mechanism=ldp-sgd", "adversary=dummy", "dimension=40", "trials=300", "measurements=2"]
quick = ["measurements=1"]
[[experiment.row]]
label = "A: full"
vary = ["epsilon=0.5,4"]
papers = [0.5, 4]
[[experiment.row]]
label = "A: half"
set = ["dummy-norm=0.5", "epsilon=4"]
vary = ["norm=1,2"]
[[experiment.row]]
label = "linear"
set = ["data=embedded", "model=linear", "adversary=gradient-flip", "epsilon=4"]
quick = false
)";

TEST(AuditStudy, EveryEntryOfTheRegistryIsValid) {
  const auto all = experiments();
  ASSERT_TRUE(all);
  std::size_t audits = 0;
  for (const Experiment& experiment : *all) {
    if (experiment.measure != "audit") continue;
    ++audits;
    for (const bool quick : {false, true}) {
      const auto rows = audit_rows(experiment, quick);
      ASSERT_TRUE(rows) << experiment.name << ": " << rows.error().message;
      EXPECT_FALSE(rows->empty());
      for (const AuditRow& row : *rows) {
        EXPECT_TRUE(find_adversary(row.settings.adversary));
        EXPECT_TRUE(find_mechanism(row.settings.mechanism));
      }
    }
  }
  EXPECT_EQ(audits, 4U);
}

TEST(AuditStudy, SettingsAreReadStrictly) {
  AuditSettings settings;
  EXPECT_TRUE(apply_setting(settings, "train-rounds=12"));
  EXPECT_EQ(settings.scene.train_rounds, 12U);
  const auto misspelt = apply_setting(settings, "train-round=12");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message.find("did you mean 'train-rounds'"), std::string::npos)
      << misspelt.error().message;
  for (const char* const bad : {"trials=0", "trials=1.5", "trials=x", "dummy-norm=2",
                                "epsilon=", "distinguisher=eye", "measurements"}) {
    EXPECT_FALSE(apply_setting(settings, bad)) << bad;
  }
}

TEST(AuditStudy, RunsAndShowsWhatItFound) {
  const Experiment experiment = parsed(kSmall);
  auto rows = audit_rows(experiment, false);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 5U);
  AuditStudyOptions options;
  options.threads = 2;
  const auto done = run_audit_rows(*rows, options);
  ASSERT_TRUE(done) << done.error().message;
  for (const AuditRow& row : *rows) {
    EXPECT_EQ(row.trials, 600U);
    EXPECT_LE(row.finding.all.best, row.finding.exact);
  }
  EXPECT_LT((*rows)[0].finding.all.accuracy, (*rows)[1].finding.all.accuracy);
  // A share of L, whatever L is.
  EXPECT_NEAR((*rows)[2].finding.all.accuracy, (*rows)[3].finding.all.accuracy, 0.1);
  EXPECT_LT((*rows)[3].finding.all.accuracy, (*rows)[1].finding.all.accuracy);
  EXPECT_EQ((*rows)[4].dimension, 7850U);
  EXPECT_TRUE((*rows)[4].model_accuracy);

  const auto json = audit_json(experiment, *rows, false);
  EXPECT_EQ(json["rows"].size(), 5U);
  EXPECT_EQ(json["rows"][1]["paper"], 4.0);
  EXPECT_EQ(json["rows"][1]["verdict"], "consistent");
  const auto charts = audit_charts(experiment, *rows);
  ASSERT_EQ(charts.size(), 2U);  // "A" and what has no picture's name
  EXPECT_EQ(charts[0].series.front().name, "full");
  const auto histograms = audit_histograms(*rows);
  EXPECT_EQ(histograms.size(), 5U);
  EXPECT_EQ(audit_csv(*rows).find("label,"), 0U);
  EXPECT_EQ(audit_rows(experiment, true)->size(), 4U);
}

TEST(AuditStudy, RowsThatDifferInEpsilonShareTheirGradients) {
  const Experiment experiment = parsed(kSmall);
  auto together = audit_rows(experiment, true);
  ASSERT_TRUE(together);
  std::vector<AuditRow> alone = {(*together)[0]};
  ASSERT_TRUE(run_audit_rows(*together, {}));
  ASSERT_TRUE(run_audit_rows(alone, {}));
  // The same coins decide which gradient is sent.
  EXPECT_EQ((*together)[0].finding.guesses.zeros, (*together)[1].finding.guesses.zeros);
}

}  // namespace
}  // namespace sotto
