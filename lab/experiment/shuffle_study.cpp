#include "experiment/shuffle_study.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/machine.h"
#include "base/nearest.h"
#include "experiment/measure.h"
#include "experiment/summary.h"
#include "sotto/account.h"

namespace sotto {
namespace {

constexpr std::uint64_t kSeedTrials = 1000;   // of one of the paper's measurements
constexpr std::uint64_t kMeasurements = 400;  // of ours, to see what they scatter around

Result<void> apply(ShuffleRow& row, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  std::map<std::string, std::function<void(double)>> keys = {
      {"epsilon", [&](double value) { row.epsilon0 = value; }},
      {"clients", [&](double value) { row.clients = static_cast<std::uint64_t>(value); }},
      {"delta", [&](double value) { row.delta = value; }},
      {"confidence", [&](double value) { row.confidence = value; }},
      {"trials", [&](double value) { row.trials = static_cast<std::uint64_t>(value); }},
      {"seed", [&](double value) { row.seed = static_cast<std::uint64_t>(value); }}};
  const auto known = keys.find(key);
  if (known == keys.end()) {
    std::vector<std::string> names;
    for (const auto& [name, take] : keys) names.push_back(name);
    return fail(ErrorKind::kCorrupt, "'" + row.label + "': unknown key '" + key + "'" +
                                         did_you_mean(key, names) + "; valid: " + join(names));
  }
  const std::string text = equals == std::string::npos ? "" : setting.substr(equals + 1);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0.0) || value > 1e15) {
    return fail(ErrorKind::kCorrupt,
                "'" + row.label + "': '" + setting + "' needs a number that is not negative");
  }
  known->second(value);
  return {};
}

DistributionPair binary(double epsilon) {
  const double flip = 1.0 / (std::exp(epsilon) + 1.0);
  return {{{1.0 - flip, flip}, {flip, 1.0 - flip}}};
}

/// The paper's measurement, again and again.
void measure_as_the_paper(ShuffleRow& row, const ShuffledGame& game) {
  ShuffledGame small = game;
  small.trials = kSeedTrials;
  small.threads = 1;
  small.progress = nullptr;
  double sum = 0.0, squares = 0.0;
  for (std::uint64_t i = 0; i < kMeasurements; ++i) {
    small.seed = game.seed + i;
    const double value = seed_value(small);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(kMeasurements);
  row.seed_mean = sum / count;
  row.seed_deviation = std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1.0)));
}

}  // namespace

Result<std::vector<ShuffleRow>> shuffle_rows(const Experiment& experiment, bool quick) {
  std::vector<ShuffleRow> rows;
  for (const ExperimentRow& entry : experiment.rows) {
    ShuffleRow row;
    row.label = entry.label;
    row.delta = 1e-6;
    row.confidence = 0.95;
    row.trials = 1'000'000;
    std::vector<std::string> settings = experiment.set;
    if (quick) settings.insert(settings.end(), experiment.quick.begin(), experiment.quick.end());
    settings.insert(settings.end(), entry.set.begin(), entry.set.end());
    for (const std::string& setting : settings) SOTTO_CHECK(apply(row, setting));
    if (!entry.papers.empty()) row.paper_theoretical = entry.papers[0].high;
    if (entry.papers.size() > 1) row.paper_measured = entry.papers[1].high;
    if (!(row.epsilon0 > 0.0)) {
      return fail(ErrorKind::kCorrupt, "'" + row.label + "' needs an epsilon above 0");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<void> measure_shuffle(std::vector<ShuffleRow>& rows, unsigned threads,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::uint64_t total = 0, before = 0;
  for (const ShuffleRow& row : rows) total += row.trials;
  for (ShuffleRow& row : rows) {
    const Stopwatch clock;
    ShuffledGame game{binary(row.epsilon0), row.clients, row.delta, row.confidence,
                      row.trials,           row.seed,    threads,   {}};
    if (const auto valid = check_game(game); !valid) {
      return fail(ErrorKind::kCorrupt, "'" + row.label + "': " + valid.error().message);
    }
    if (progress) {
      game.progress = [&](std::uint64_t done) { progress(before + done, total); };
    }
    row.seed_exact = seed_value_exact(game.distributions, row.clients);
    measure_as_the_paper(row, game);
    row.finding = audit_shuffled(game, BatchStatistic::kFrequency);
    for (const Bound& bound : shuffle_bounds({row.epsilon0, row.clients, row.delta})) {
      if (!bound.valid()) continue;
      if (bound.name == "exact-binary") row.exact_binary = *bound.epsilon;
      if (bound.name == "generic") row.numerical = *bound.epsilon;
      if (bound.name == "closed-form") row.closed_form = *bound.epsilon;
    }
    row.seconds = clock.seconds();
    before += row.trials;
  }
  return {};
}

nlohmann::ordered_json shuffle_json(const Experiment& experiment,
                                    const std::vector<ShuffleRow>& rows, bool quick) {
  nlohmann::ordered_json json = measured_head("sotto.shuffled.v1", experiment, quick);
  const auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  json["rows"] = nlohmann::ordered_json::array();
  for (const ShuffleRow& row : rows) {
    json["rows"].push_back({{"label", row.label},
                            {"epsilon0", row.epsilon0},
                            {"clients", row.clients},
                            {"delta", row.delta},
                            {"paper_theoretical", optional(row.paper_theoretical)},
                            {"paper_measured", optional(row.paper_measured)},
                            {"seed_statistic_exact", row.seed_exact},
                            {"seed_statistic_mean", row.seed_mean},
                            {"seed_statistic_deviation", row.seed_deviation},
                            {"epsilon_lower", row.finding.bounds.two_sided},
                            {"confidence", row.confidence},
                            {"trials", row.trials},
                            {"trials_tested", row.finding.trials},
                            {"threshold", row.finding.threshold},
                            {"fpr", row.finding.bounds.fpr},
                            {"fnr", row.finding.bounds.fnr},
                            {"exact_binary", row.exact_binary},
                            {"numerical", row.numerical},
                            {"closed_form", optional(row.closed_form)},
                            {"seed", row.seed},
                            {"seconds", row.seconds}});
  }
  return json;
}

std::string shuffle_csv(const std::vector<ShuffleRow>& rows) {
  std::string text =
      "label,epsilon0,clients,delta,paper_theoretical,paper_measured,seed_statistic_exact,"
      "seed_statistic_mean,epsilon_lower,confidence,trials,exact_binary,numerical,closed_form,"
      "seconds\n";
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  for (const ShuffleRow& row : rows) {
    text += fmt::format("\"{}\",{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.label,
                        row.epsilon0, row.clients, row.delta, optional(row.paper_theoretical),
                        optional(row.paper_measured), row.seed_exact, row.seed_mean,
                        row.finding.bounds.two_sided, row.confidence, row.trials, row.exact_binary,
                        row.numerical, optional(row.closed_form), row.seconds);
  }
  return text;
}

LineChart shuffle_chart(const Experiment& experiment, const std::vector<ShuffleRow>& rows) {
  LineChart chart;
  chart.title = experiment.name + ": epsilon of a shuffled batch";
  chart.x_label = "epsilon of one report, clients in a batch";
  chart.y_label = "epsilon of the batch, delta 1e-6";
  chart.y_log = true;
  chart.width = 760.0;
  chart.plot_height = 320.0;
  Series theory{"paper: theoretical", {}}, numerical{"numerical bound", {}};
  Series exact{"exact, binary reports", {}}, lower{"audited lower bound", {}};
  Series measured{"paper: measured", {}}, noise_free{"the paper's statistic, no noise", {}};
  double x = 0.0;
  for (const ShuffleRow& row : rows) {
    if (row.paper_theoretical) theory.points.emplace_back(x, *row.paper_theoretical);
    numerical.points.emplace_back(x, row.numerical);
    exact.points.emplace_back(x, row.exact_binary);
    lower.points.emplace_back(x, row.finding.bounds.two_sided);
    if (row.paper_measured) measured.points.emplace_back(x, *row.paper_measured);
    noise_free.points.emplace_back(x, row.seed_exact);
    chart.x_names.push_back(row.label);
    x += 1.0;
  }
  chart.series = {theory, numerical, exact, lower, measured, noise_free};
  for (Series& series : chart.series) series.line = false;
  return chart;
}

}  // namespace sotto
