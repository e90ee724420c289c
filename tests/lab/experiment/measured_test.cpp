// Entries of the registry that measure: their rows are read strictly, and none is forgotten.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "experiment/refutation_study.h"
#include "experiment/shuffle_study.h"

namespace sotto {
namespace {

Experiment found(const std::string& name) {
  auto experiment = find_experiment(name);
  EXPECT_TRUE(experiment.has_value()) << experiment.error().message;
  return std::move(experiment).value();
}

TEST(MeasureShuffle, ReadsTable3) {
  const auto rows = shuffle_rows(found("measure-shuffle"), false);
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 6U);
  EXPECT_EQ((*rows)[4].clients, 6454U);
  EXPECT_EQ((*rows)[4].epsilon0, 4.0);
  EXPECT_EQ((*rows)[4].paper_theoretical, 1.1);
  EXPECT_EQ((*rows)[4].paper_measured, 0.16);
  const auto quick = shuffle_rows(found("measure-shuffle"), true);
  ASSERT_TRUE(quick.has_value());
  EXPECT_LT(quick->front().trials, rows->front().trials);
}

TEST(MeasureShuffle, NamesWhatIsWrong) {
  const Experiment sound = found("measure-shuffle");
  const auto error = [&](const std::string& setting) {
    Experiment experiment = sound;
    experiment.rows.front().set.push_back(setting);
    auto rows = shuffle_rows(experiment, true);
    if (!rows) return rows.error().message;
    rows->resize(1);
    const auto measured = measure_shuffle(*rows, 1, {});
    return measured ? std::string() : measured.error().message;
  };
  EXPECT_NE(error("client=3").find("did you mean 'clients'"), std::string::npos);
  EXPECT_NE(error("clients=many").find("needs a number"), std::string::npos);
  EXPECT_NE(error("clients=1").find("2 to 100,000,000"), std::string::npos);
  EXPECT_NE(error("epsilon=0").find("above 0"), std::string::npos);
}

TEST(MeasureShuffle, OrdersItsBounds) {
  auto rows = shuffle_rows(found("measure-shuffle"), true);
  ASSERT_TRUE(rows.has_value());
  rows->resize(2);
  for (ShuffleRow& row : *rows) row.trials = 400'000;
  ASSERT_TRUE(measure_shuffle(*rows, 2, {}).has_value());
  for (const ShuffleRow& row : *rows) {
    EXPECT_LE(row.finding.bounds.two_sided, row.exact_binary);
    EXPECT_LE(row.exact_binary, row.numerical);
    ASSERT_TRUE(row.closed_form.has_value());
    EXPECT_LE(row.numerical, *row.closed_form);
    EXPECT_NEAR(row.seed_mean, row.seed_exact, 0.04);
  }
  const auto json = shuffle_json(found("measure-shuffle"), *rows, true);
  EXPECT_EQ(json["rows"].size(), 2U);
  EXPECT_TRUE(json["rows"][0]["epsilon_lower"].is_number());
  EXPECT_EQ(shuffle_chart(found("measure-shuffle"), *rows).series.size(), 6U);
}

TEST(MeasureRefutations, EveryCaseIsARow) {
  std::multiset<std::string> labels;
  for (const ExperimentRow& row : found("refutations").rows) labels.insert(row.label);
  for (const std::string& name : refutation_names()) EXPECT_EQ(labels.count(name), 1U) << name;
  EXPECT_EQ(labels.size(), refutation_names().size());
  Experiment wrong = found("refutations");
  wrong.rows.front().label = "ldpfl-3";
  EXPECT_FALSE(measure_refutations(wrong, {}, {}).has_value());
}

}  // namespace
}  // namespace sotto
