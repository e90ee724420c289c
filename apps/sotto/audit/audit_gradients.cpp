#include "audit_gradients.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "adversary/scene.h"
#include "adversary/vector_finding.h"
#include "audit/looks.h"
#include "audit_command.h"
#include "base/file.h"
#include "base/json_number.h"
#include "report/chart.h"
#include "report/markup.h"
#include "terminal.h"
#include "torch_trainer.h"

namespace sotto::cli {
namespace {

constexpr std::uint64_t kTrials = 1000;  // of one measurement, unless --trials says otherwise
constexpr double kMostTrials = 1e12;     // in all
/// The threshold is learned on a fifth as many trials as are tested, but no more than these.
constexpr std::uint64_t kMostLearned = 65'536;

struct Audited {
  const MechanismInfo* info = nullptr;
  const AdversaryEntry* adversary = nullptr;
  std::unique_ptr<Mechanism> mechanism;
  std::optional<double> model_accuracy;
  std::uint64_t learned = 0;  // trials that the threshold was learned on
  double threshold = 0.0;     // of the log-likelihood ratio
  TrialCounts counts;
  VectorFinding finding;  // by the distinguisher that was asked for
  VectorFinding other;
};

Result<Scene> scene_of(const AuditOptions& options, const GradientOptions& gradients,
                       const AdversaryEntry& adversary) {
  if (gradients.data.empty()) {
    if (adversary.info.needs_model) {
      return fail(ErrorKind::kUsage, "audit: the adversary '" + gradients.adversary +
                                         "' needs examples: --data NAME (such as 'embedded'; see "
                                         "'sotto data list') and --model NAME");
    }
    return empty_scene(options.mechanism.dimension.value_or(1000), 1.0);
  }
  if (options.mechanism.dimension) {
    return fail(ErrorKind::kUsage,
                "audit: --dimension does not go with --data: the model has its own");
  }
  SceneRequest request;
  request.data = gradients.data;
  request.folder = gradients.data_folder;
  request.model = gradients.model;
  request.train_rounds = gradients.train_rounds;
  request.malicious_rounds = gradients.malicious_rounds;
  request.seed = options.seed;
  return make_scene(request, torch_trainer());
}

/// The trials in all after which the counts are looked at; the last one is the end.
struct Looks {
  std::vector<Look> all;
  std::size_t next = 0;
  double confidence() const { return 1.0 - all[std::min(next, all.size() - 1)].error; }
};

/// Options that mean nothing to this adversary, or without a model.
Result<void> check_gradient_options(const CLI::App& command, const GradientOptions& gradients) {
  const auto given = [&](const char* name) { return command.get_option(name)->count() > 0; };
  const std::tuple<const char*, bool, const char*> needs[] = {
      {"--dummy-norm", gradients.adversary == "dummy", "--adversary dummy"},
      {"--malicious-rounds", gradients.adversary == "collusion", "--adversary collusion"},
      {"--model", !gradients.data.empty(), "--data NAME"},
      {"--train-rounds", !gradients.data.empty(), "--data NAME"},
      {"--data-folder", !gradients.data.empty(), "--data NAME"}};
  for (const auto& [name, met, need] : needs) {
    if (!given(name) || met) continue;
    return fail(ErrorKind::kUsage,
                std::string("audit: ") + name + " means nothing without " + need);
  }
  if (given("--range") || given("--bits")) {
    return fail(ErrorKind::kUsage, "audit: --range and --bits mean nothing for a vector mechanism");
  }
  return {};
}

/// Trials of a measurement.
Result<std::uint64_t> trials_of(const AuditOptions& options, const GradientOptions& gradients) {
  AuditPlan asked = options.plan();
  asked.trials = AuditPlan::kLeast;  // counted in another way here
  SOTTO_CHECK(asked.check());
  const bool given = gradients.trials != nullptr && gradients.trials->count() > 0;
  const std::uint64_t trials = given ? options.trials : kTrials;
  const double all = static_cast<double>(trials) * static_cast<double>(gradients.measurements);
  if (!(all >= static_cast<double>(AuditPlan::kLeast) && all <= kMostTrials)) {
    return fail(ErrorKind::kUsage, "audit: " + with_commas(gradients.measurements) +
                                       " measurements of " + with_commas(trials) +
                                       " trials; valid: 100 to 10^12 in all");
  }
  return trials;
}

Result<Audited> audit(const AuditOptions& options, const GradientOptions& gradients) {
  SOTTO_TRY(const std::uint64_t trials, trials_of(options, gradients));
  Audited done;
  SOTTO_TRY(done.info, find_mechanism(options.mechanism.name));
  if (done.info->kind != MechanismKind::kVector) {
    return fail(ErrorKind::kUsage, "audit: --adversary attacks vector mechanisms; '" +
                                       options.mechanism.name + "' is not one");
  }
  SOTTO_TRY(done.adversary, find_adversary(gradients.adversary));
  SOTTO_TRY(
      const Distinguisher distinguisher,
      find_distinguisher(options.distinguisher.empty() ? "likelihood" : options.distinguisher));
  SOTTO_CHECK(check_gradient_options(*options.command, gradients));
  SOTTO_TRY(Scene scene, scene_of(options, gradients, *done.adversary));
  SOTTO_TRY(done.mechanism, options.mechanism.make(scene.dimension));
  if (scene.factory) {
    SOTTO_TRY(done.model_accuracy, training_accuracy(scene, 2000));
  }
  scene.dummy_norm = gradients.dummy_norm * done.mechanism->domain().norm;
  const auto adversary = done.adversary->make();
  SOTTO_CHECK(adversary->prepare(scene, BitSource::from_seed(options.seed, "audit-prepare")));

  const double claim = options.claim.value_or(done.mechanism->guarantee().claimed_epsilon);
  const double delta = done.mechanism->guarantee().delta;
  TrialPlan plan;
  plan.mechanisms = {done.mechanism.get()};
  plan.trials = trials;
  plan.measurements = gradients.measurements;
  plan.seed = options.seed;
  plan.stream = stream_of(*done.adversary);
  plan.threads = options.plan().threads;
  plan.similarities = !gradients.plot.empty() || !options.out.empty();
  const std::uint64_t tested = plan.trials * plan.measurements;
  done.learned = std::min(tested / 5, kMostLearned);
  Progress progress("audit", done.learned + tested);
  std::uint64_t before = 0;
  plan.progress = [&](std::uint64_t so_far, std::uint64_t /*total*/) {
    progress.update(before + so_far, done.learned + tested);
  };
  SOTTO_TRY(plan.thresholds,
            learn_thresholds(scene, *adversary, plan, done.learned, options.confidence));
  done.threshold = plan.thresholds.front();
  before = done.learned;
  AuditPlan judged = options.plan();
  judged.claim = claim;
  Looks looks{looks_of(tested, options.confidence, judged.may_stop(), TrialPlan::kGroup)};
  plan.enough = [&](std::span<const Tally> so_far) {
    const Guesses& guesses = so_far.front().of(distinguisher);
    if (looks.next + 1 >= looks.all.size() || guesses.trials() < looks.all[looks.next].trials) {
      return false;
    }
    const double bound = lower_bounds(guesses, looks.confidence(), delta).best;
    if (judge(bound, claim) == Verdict::kViolated) return true;
    ++looks.next;
    return false;
  };
  SOTTO_TRY(done.counts, run_trials(scene, *adversary, plan));
  progress.clear();
  if (!done.counts.stopped) looks.next = looks.all.size() - 1;
  const auto find = [&](Distinguisher which) {
    VectorFinding finding =
        finding_of(*done.mechanism, done.counts, 0, which, options.confidence, looks.confidence());
    finding.claim = claim;
    finding.verdict = judge(finding.all.best, claim);
    return finding;
  };
  done.finding = find(distinguisher);
  done.other = find(distinguisher == Distinguisher::kCosine ? Distinguisher::kLikelihood
                                                            : Distinguisher::kCosine);
  return done;
}

nlohmann::json bounds_json(const VectorFinding& finding) {
  return {{"distinguisher", name_of(finding.distinguisher)},
          {"epsilon_lower", number_or_null<nlohmann::json>(finding.all.best)},
          {"raw", number_or_null<nlohmann::json>(finding.all.raw)},
          {"two_sided", number_or_null<nlohmann::json>(finding.all.two_sided)},
          {"pooled", number_or_null<nlohmann::json>(finding.all.pooled)},
          {"fpr", finding.all.fpr},
          {"fnr", finding.all.fnr},
          {"accuracy", finding.all.accuracy},
          {"mean",
           {{"raw", number_or_null<nlohmann::json>(finding.mean.raw)},
            {"raw_deviation", finding.mean.raw_deviation},
            {"two_sided", number_or_null<nlohmann::json>(finding.mean.two_sided)},
            {"pooled", number_or_null<nlohmann::json>(finding.mean.pooled)},
            {"accuracy", finding.mean.accuracy}}}};
}

nlohmann::json to_json(const Audited& done, const AuditOptions& options,
                       const GradientOptions& gradients) {
  const auto& [info, adversary, mechanism, accuracy, learned, threshold, counts, finding, other] =
      done;
  nlohmann::json json = bounds_json(finding);
  json.update({{"mechanism", info->name},
               {"mechanism_id", mechanism->id()},
               {"parameters", options.mechanism.parameters(*info)},
               {"adversary", adversary->info.name},
               {"data", gradients.data},
               {"model", gradients.data.empty() ? "" : gradients.model},
               {"train_rounds", gradients.train_rounds},
               {"model_accuracy", accuracy ? nlohmann::json(*accuracy) : nlohmann::json(nullptr)},
               {"dimension", mechanism->outputs()},
               {"claim", number_or_null<nlohmann::json>(finding.claim)},
               {"exact_epsilon", number_or_null<nlohmann::json>(finding.exact)},
               {"delta", finding.delta},
               {"confidence", options.confidence},
               {"trials", learned + counts.trials},
               {"learning_trials", learned},
               {"threshold", number_or_null<nlohmann::json>(threshold)},
               {"measurements", counts.measured.front().size()},
               {"stopped_early", counts.stopped},
               {"verdict", name_of(finding.verdict)},
               {"rule", kBestRule},
               {"other_distinguisher", bounds_json(other)},
               {"seconds", counts.seconds}});
  return json;
}

void print(const Audited& done, const AuditOptions& options, const GradientOptions& gradients) {
  const VectorFinding& finding = done.finding;
  fmt::print("{}{}, {} coordinates, against the adversary '{}'\n\n", done.info->name,
             with_parameters(options.mechanism.parameters(*done.info)),
             with_commas(done.mechanism->outputs()), done.adversary->info.name);
  print_line("it may touch", std::string(done.adversary->info.access));
  print_line("gradients",
             fmt::format("{}; {}", done.adversary->info.first, done.adversary->info.second));
  if (done.model_accuracy) {
    print_line("model",
               fmt::format("{} on {} after {} rounds: {:.1f} % of training examples right",
                           gradients.model, gradients.data, with_commas(gradients.train_rounds),
                           100.0 * *done.model_accuracy));
  }
  print_line("claimed epsilon",
             epsilon_text(finding.claim) +
                 (finding.delta > 0.0 ? ", delta " + epsilon_text(finding.delta) : std::string()));
  print_line("exact epsilon", epsilon_text(finding.exact));
  print_line("audited epsilon",
             fmt::format("at least {}{}, with confidence {} %", number_down(finding.all.best, 4),
                         finding.delta > 0.0 ? " at delta " + short_number(finding.delta) : "",
                         short_number(100.0 * options.confidence)));
  print_line("verdict", finding.verdict == Verdict::kViolated
                            ? "VIOLATED: the claimed " + epsilon_text(finding.claim) + " is refuted"
                            : "consistent with the claimed " + epsilon_text(finding.claim) +
                                  " (an audit cannot prove it)");
  const std::size_t measurements = done.counts.measured.front().size();
  print_line(
      "trials",
      fmt::format("{} in {} measurement{}{}, and {} to learn the threshold",
                  with_commas(done.counts.trials), measurements, measurements == 1 ? "" : "s",
                  done.counts.stopped ? ", stopped early" : "", with_commas(done.learned)));
  print_line("likelihood", fmt::format("guesses the second gradient where the log-ratio is above "
                                       "{:.6g}",
                                       done.threshold));
  Table table({"guess by", "of", "FPR", "FNR", "accuracy", "eq. 3", "two-sided", "pooled"});
  for (const VectorFinding* const each : {&done.finding, &done.other}) {
    table.add({std::string(name_of(each->distinguisher)), "all trials",
               fmt::format("{:.5g}", each->all.fpr), fmt::format("{:.5g}", each->all.fnr),
               fmt::format("{:.4f}", each->all.accuracy), number_down(each->all.raw, 4),
               number_down(each->all.two_sided, 4), number_down(each->all.pooled, 4)});
    if (measurements < 2) continue;
    table.add({std::string(name_of(each->distinguisher)), "a measurement, mean", "", "",
               fmt::format("{:.4f}", each->mean.accuracy), number_down(each->mean.raw, 4),
               number_down(each->mean.two_sided, 4), number_down(each->mean.pooled, 4)});
  }
  fmt::print("\n{}\nmeasured in {}\n", table.text(), duration(done.counts.seconds));
}

Histogram picture(const Audited& done) {
  const Similarities& counted = done.counts.total.front().similarities;
  const auto counts = [](const std::vector<std::uint64_t>& from) {
    return std::vector<double>(from.begin(), from.end());
  };
  return {fmt::format("{}, {}", done.info->name, done.adversary->info.name),
          "cosine of report and first gradient",
          -counted.reach,
          counted.reach,
          {{"it was g1", counts(counted.of_first)}, {"it was g2", counts(counted.of_second)}}};
}

}  // namespace

void add_gradient_options(CLI::App& command, GradientOptions& options) {
  options.trials = command.get_option_no_throw("--trials");
  command
      .add_option("--adversary", options.adversary,
                  "who crafts the two gradients; weakest first: benign, label-flip, gradient-flip, "
                  "collusion, dummy")
      ->type_name("NAME")
      ->group(kGradientGroup);
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning,
                       const std::string& type) {
    CLI::Option* const option = command.add_option(name, value, meaning);
    return option->type_name(type)->group(kGradientGroup);
  };
  const auto whole = [](std::uint64_t least) {
    return CLI::Range(least, std::uint64_t{1'000'000});
  };
  add("--data", options.data, "data set that examples are drawn from; 'dummy' needs none", "NAME");
  add("--data-folder", options.data_folder, "where known sets lie", "DIR");
  add("--model", options.model, "network whose gradients are sent", "NAME")->capture_default_str();
  add("--train-rounds", options.train_rounds,
      "noise-free steps on 100 examples each before the audit; 0: a fresh model", "R")
      ->capture_default_str()
      ->check(whole(0));
  add("--malicious-rounds", options.malicious_rounds,
      "steps on one label alone, of the server that colludes", "R")
      ->capture_default_str()
      ->check(whole(0));
  add("--dummy-norm", options.dummy_norm, "norm of the dummy gradient, as a share of L", "SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  add("--measurements", options.measurements,
      "how many times --trials (here 1000, unless given) are made", "N")
      ->capture_default_str()
      ->check(whole(1));
  add("--plot", options.plot, "draws the cosines under both gradients", "FILE.svg");
}

Result<int> audit_gradients(const AuditOptions& options) {
  const GradientOptions& gradients = options.gradients;
  SOTTO_TRY(const Audited done, audit(options, gradients));
  if (!gradients.plot.empty()) {
    SOTTO_CHECK(write_file_atomically(gradients.plot, to_svg(picture(done))));
  }
  const nlohmann::json json = to_json(done, options, gradients);
  SOTTO_CHECK(write_audit(
      options, fmt::format("{} against '{}'", done.info->name, done.adversary->info.name), json,
      {{"cosines.svg", to_svg(picture(done))}}));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print(done, options, gradients);
    if (!gradients.plot.empty()) fmt::print("plot: {}\n", gradients.plot);
  }
  return done.finding.verdict == Verdict::kViolated ? 1 : 0;
}

}  // namespace sotto::cli
