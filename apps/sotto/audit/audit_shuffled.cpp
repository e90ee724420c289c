// sotto audit --shuffled MECH: attacks a batch of the shuffler in which one client may hold another
// input than all others, and lays the bound beside what is proven for the batch.
#include <fmt/format.h>

#include <cmath>

#include "audit/shuffled.h"
#include "audit_command.h"
#include "base/clock.h"
#include "base/json_number.h"
#include "base/nearest.h"
#include "report/markup.h"
#include "sotto/account.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr double kDelta = 1e-6;

/// Everything that one audit of batches is about.
struct Batches {
  const MechanismInfo* info = nullptr;
  std::unique_ptr<Mechanism> mechanism;
  ReportPair pair;
  ShuffledGame game;
  std::vector<Bound> proven;
  double claim = 0.0;
  std::string claim_source;
};

Result<Batches> prepare(const AuditOptions& options) {
  Batches batches;
  SOTTO_TRY(batches.info, find_mechanism(options.mechanism.name));
  SOTTO_CHECK(check_sizes(*options.command, *batches.info));
  const MechanismKind kind = batches.info->kind;
  // --delta is the batch's here: no mechanism of a finite epsilon has one of its own.
  MechanismOptions chosen = options.mechanism;
  double delta = kDelta;
  if (const auto given = chosen.set.find("delta"); given != chosen.set.end()) {
    delta = given->second;
    if (!takes(*batches.info, "delta")) chosen.set.erase(given);
  }
  SOTTO_TRY(const std::size_t size, chosen.input_size(kind));
  SOTTO_TRY(batches.mechanism, chosen.make(size));
  SOTTO_TRY(batches.pair, ReportPair::make(*batches.mechanism, kind));
  ShuffledGame& game = batches.game;
  game.distributions = batches.pair.distributions();
  game.clients = options.clients;
  game.delta = delta;
  game.confidence = options.confidence;
  game.trials = options.trials;
  game.seed = options.seed;
  game.threads = options.plan().threads;
  SOTTO_CHECK(check_game(game));
  ShuffleQuestion question;
  question.epsilon0 = batches.mechanism->guarantee().epsilon;
  question.clients = options.clients;
  question.delta = delta;
  question.mechanism = batches.mechanism->background(0, batches.mechanism->outputs());
  batches.proven = shuffle_bounds(question);
  const Bound* const best = best_of(batches.proven);
  batches.claim = options.claim.value_or(best != nullptr ? *best->epsilon : question.epsilon0);
  batches.claim_source = options.claim || best == nullptr ? "" : best->name;
  return batches;
}

/// Which statistics to try. Two of them share the error; for binary reports they order batches
/// alike, and one is enough.
Result<std::vector<BatchStatistic>> statistics_of(const AuditOptions& options,
                                                  const DistributionPair& distributions) {
  const std::vector<std::string> names = {"frequency", "likelihood", "both"};
  const std::string asked = options.distinguisher.empty() ? "both" : options.distinguisher;
  if (std::find(names.begin(), names.end(), asked) == names.end()) {
    return fail(ErrorKind::kUsage, "--distinguisher " + asked + ": unknown" +
                                       did_you_mean(asked, names) + "; valid: " + join(names));
  }
  if (asked == "frequency") return std::vector{BatchStatistic::kFrequency};
  if (asked == "likelihood") {
    return std::vector{BatchStatistic::kLikelihoodRatio};
  }
  if (distributions.classes.size() == 2) return std::vector{BatchStatistic::kFrequency};
  return std::vector{BatchStatistic::kFrequency, BatchStatistic::kLikelihoodRatio};
}

nlohmann::json finding_json(const ShuffledFinding& found) {
  return {{"distinguisher", name_of(found.statistic)},
          {"epsilon_lower", found.bounds.two_sided},
          {"threshold", found.threshold},
          {"trials_tested", found.trials},
          {"fpr", found.bounds.fpr},
          {"fnr", found.bounds.fnr},
          {"accuracy", found.bounds.accuracy}};
}

nlohmann::json to_json(const Batches& batches, const std::vector<ShuffledFinding>& found,
                       const ShuffledFinding& best, double seconds) {
  nlohmann::json json = {
      {"epsilon_lower", best.bounds.two_sided},
      {"confidence", batches.game.confidence},
      {"delta", batches.game.delta},
      {"trials", batches.game.trials},
      {"learning_trials", batches.game.trials - best.trials},
      {"stopped_early", false},
      {"rule", "two-sided, the statistics sharing the error"},
      {"verdict", name_of(judge(best.bounds.two_sided, batches.claim))},
      {"claim", number_or_null<nlohmann::json>(batches.claim)},
      {"claim_source", batches.claim_source.empty() ? "given" : batches.claim_source},
      {"fpr", best.bounds.fpr},
      {"fnr", best.bounds.fnr},
      {"accuracy", best.bounds.accuracy},
      {"raw", number_or_null<nlohmann::json>(best.bounds.raw)},
      {"two_sided", best.bounds.two_sided},
      {"pooled", best.bounds.pooled},
      {"distinguisher", name_of(best.statistic)},
      {"mechanism", batches.info->name},
      {"mechanism_id", batches.mechanism->id()},
      {"epsilon0", number_or_null<nlohmann::json>(batches.mechanism->guarantee().epsilon)},
      {"clients", batches.game.clients},
      {"classes", batches.game.distributions.classes.size()},
      {"seed_statistic_exact", seed_value_exact(batches.game.distributions, batches.game.clients)},
      {"seconds", seconds}};
  for (const ShuffledFinding& one : found) json["distinguishers"].push_back(finding_json(one));
  for (const Bound& bound : batches.proven) {
    json["proven"][bound.name] =
        bound.valid() ? number_or_null<nlohmann::json>(*bound.epsilon) : nlohmann::json(nullptr);
  }
  return json;
}

void print_text(const Batches& batches, const std::vector<ShuffledFinding>& found,
                const ShuffledFinding& best, double seconds) {
  const ShuffledGame& game = batches.game;
  fmt::print("{}: a shuffled batch of {} clients, one of whom may hold another input\n\n",
             batches.info->name, with_commas(game.clients));
  print_line("one report", "epsilon " + epsilon_text(batches.mechanism->guarantee().epsilon));
  print_line("inputs", batches.pair.words());
  const bool violated = judge(best.bounds.two_sided, batches.claim) == Verdict::kViolated;
  print_line("audited epsilon",
             fmt::format("at least {} at delta {}, with confidence {} %, by {}",
                         number_down(best.bounds.two_sided, 4), short_number(game.delta),
                         short_number(100.0 * game.confidence), name_of(best.statistic)));
  print_line("verdict", fmt::format("{} {}{}", violated ? "VIOLATED: above" : "consistent with",
                                    epsilon_text(batches.claim),
                                    batches.claim_source.empty()
                                        ? ", as claimed"
                                        : ", the " + batches.claim_source + " bound"));
  print_line("the seed's value",
             fmt::format("{:.4f}: threshold at the mean, no delta, without noise",
                         seed_value_exact(game.distributions, game.clients)));
  Table tried({"distinguisher", "audited", "guess above", "FPR", "FNR", "trials tested"});
  for (const ShuffledFinding& one : found) {
    tried.add({std::string(name_of(one.statistic)), number_down(one.bounds.two_sided, 4),
               fmt::format("{:.6g}", one.threshold), fmt::format("{:.5g}", one.bounds.fpr),
               fmt::format("{:.5g}", one.bounds.fnr), with_commas(one.trials)});
  }
  fmt::print("\n{}\n", tried.text());
  Table proven({"proven for a batch", "epsilon", ""});
  for (const Bound& bound : batches.proven) {
    proven.add({bound.name, bound.valid() ? epsilon_text(*bound.epsilon) : "-",
                bound.valid() ? (bound.upper ? "" : "no bound for all mechanisms is below it")
                              : bound.reason});
  }
  fmt::print("{}\nmeasured in {}\n", proven.text(), duration(seconds));
}

}  // namespace

Result<int> audit_shuffled_batches(const AuditOptions& options) {
  const Stopwatch clock;
  SOTTO_TRY(Batches batches, prepare(options));
  SOTTO_TRY(const auto statistics, statistics_of(options, batches.game.distributions));
  ShuffledGame each = batches.game;
  each.confidence = 1.0 - (1.0 - options.confidence) / static_cast<double>(statistics.size());
  Progress progress("audit", options.trials * statistics.size());
  std::vector<ShuffledFinding> found;
  for (const BatchStatistic statistic : statistics) {
    each.progress = [&](std::uint64_t done) {
      progress.update(found.size() * options.trials + done, options.trials * statistics.size());
    };
    found.push_back(audit_shuffled(each, statistic));
  }
  progress.clear();
  const ShuffledFinding& best = *std::max_element(
      found.begin(), found.end(),
      [](const auto& a, const auto& b) { return a.bounds.two_sided < b.bounds.two_sided; });
  const nlohmann::json json = to_json(batches, found, best, clock.seconds());
  SOTTO_CHECK(write_audit(options,
                          fmt::format("{}, shuffled batches of {} clients", batches.info->name,
                                      with_commas(batches.game.clients)),
                          json));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_text(batches, found, best, clock.seconds());
  }
  return judge(best.bounds.two_sided, batches.claim) == Verdict::kViolated ? 1 : 0;
}

void add_shuffled_options(CLI::App& command, AuditOptions& options) {
  command
      .add_flag("--shuffled", options.shuffled,
                "audit a shuffled batch of reports; --delta is the batch's, default 1e-6")
      ->group(kShuffledGroup);
  command.add_option("--clients", options.clients, "in a batch")
      ->default_val(1000)
      ->type_name("N")
      ->group(kShuffledGroup);
}

}  // namespace sotto::cli
