// sotto attack membership: was a sample among those that a model, or a client's report, was trained
// on? Noise-free beside each mechanism.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attack/membership.h"
#include "attack_commands.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_number.h"
#include "base/parallel.h"
#include "mechanism_choice.h"
#include "plan/round_plan.h"
#include "report/chart.h"
#include "report/findings.h"
#include "report/markup.h"
#include "run/run_with_progress.h"
#include "server/checkpoint.h"
#include "server/setup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string recipe;
  std::vector<std::string> settings;
  std::vector<std::string> mechanisms;
  std::string run;
  std::string data;
  std::string out;
  std::size_t population = 1000;
  std::size_t runs = 16;
  std::size_t reports = 4;
  std::size_t models = 8;
  RoundId round = 1;
  const CLI::App* command = nullptr;  // which options were given
  double fpr = 0.001;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  bool json = false;
};

/// One mechanism and what attacks on it found.
struct Variant {
  std::string label;
  std::string name;  // short, for pictures: "srr 5"
  Recipe recipe;
  MembershipResult found;
  double seconds = 0.0;
};

Result<std::vector<Variant>> variants_of(const Arguments& arguments) {
  std::vector<Variant> variants;
  if (arguments.mechanisms.empty()) {
    Variant variant;
    SOTTO_TRY(variant.recipe, load_recipe(arguments.recipe, arguments.settings));
    variant.label = variant.recipe.privacy.mechanism;
    variant.name = variant.label;
    variants.push_back(std::move(variant));
  }
  for (const std::string& text : arguments.mechanisms) {
    SOTTO_TRY(const MechanismChoice choice, parse_choice(text));
    std::vector<std::string> settings = arguments.settings;
    for (std::string& setting : choice.overrides()) settings.push_back(std::move(setting));
    Variant variant;
    variant.label = text;
    SOTTO_TRY(variant.recipe, load_recipe(arguments.recipe, settings));
    variant.name = choice.info->name;
    for (const char* key : {"epsilon", "alpha"}) {
      const auto budget = variant.recipe.privacy.parameters.find(key);
      if (budget == variant.recipe.privacy.parameters.end()) continue;
      variant.name += ' ' + short_number(budget->second);
    }
    const auto same = std::count_if(variants.begin(), variants.end(), [&](const Variant& other) {
      return other.name.starts_with(variant.name);
    });
    if (same > 0) variant.name += fmt::format(" ({})", same + 1);
    variants.push_back(std::move(variant));
  }
  return variants;
}

/// The model that a run left; refused where the run was not of this recipe.
Result<std::vector<float>> model_of_run(const std::string& folder, const Recipe& recipe) {
  const std::filesystem::path file = std::filesystem::path(folder) / "checkpoint.sotto";
  SOTTO_TRY(Checkpoint checkpoint, read_checkpoint(file));
  if (checkpoint.recipe != recipe.fingerprint()) {
    return fail(ErrorKind::kUsage,
                folder + " holds a run of another recipe than " + recipe.file +
                    " with these settings; give the recipe and the --set of the run");
  }
  return std::move(checkpoint.weights);
}

Json pair_of(const Interval& interval) { return {interval.low, interval.high}; }

Json to_json(const Variant& variant) {
  Json findings = Json::array();
  for (const MembershipFinding& finding : variant.found.findings) {
    Json curve = Json::array();
    for (const auto& [fpr, tpr] : finding.roc.curve) curve.push_back({fpr, tpr});
    findings.push_back({{"target", finding.target},
                        {"attack", finding.attack},
                        {"auc", finding.roc.auc},
                        {"auc_interval", pair_of(finding.roc.auc_interval)},
                        {"tpr", finding.roc.tpr},
                        {"tpr_interval", pair_of(finding.roc.tpr_interval)},
                        {"fpr", finding.roc.limit},
                        {"members", finding.roc.members},
                        {"others", finding.roc.others},
                        {"undecided", finding.undecided},
                        {"roc", std::move(curve)}});
  }
  return {{"mechanism", variant.label},
          {"weight_epsilon", number_or_null<Json>(variant.found.weight_epsilon)},
          {"client_epsilon", number_or_null<Json>(variant.found.client_epsilon)},
          {"member_accuracy", variant.found.member_accuracy},
          {"other_accuracy", variant.found.other_accuracy},
          {"seconds", variant.seconds},
          {"findings", std::move(findings)}};
}

std::string epsilon_of(double epsilon) {
  return std::isfinite(epsilon) ? number_up(epsilon) : "infinite";
}

/// "12.3 % (10.1 to 14.9)"
std::string with_interval(double value, const Interval& interval) {
  return fmt::format("{:.2f} % ({:.2f} to {:.2f})", 100.0 * value, 100.0 * interval.low,
                     100.0 * interval.high);
}

std::vector<std::string> header(double fpr) {
  return {"mechanism",
          "epsilon of a weight",
          "of a client",
          "members right",
          "others right",
          "target",
          "attack",
          "AUC",
          fmt::format("TPR at {} % FPR", short_number(100.0 * fpr))};
}

std::vector<std::vector<std::string>> cells_of(const std::vector<Variant>& variants) {
  std::vector<std::vector<std::string>> rows;
  for (const Variant& variant : variants) {
    for (const MembershipFinding& finding : variant.found.findings) {
      rows.push_back({variant.label, epsilon_of(variant.found.weight_epsilon),
                      epsilon_of(variant.found.client_epsilon),
                      percent(variant.found.member_accuracy), percent(variant.found.other_accuracy),
                      finding.target, finding.attack,
                      fmt::format("{:.3f} ({:.3f} to {:.3f})", finding.roc.auc,
                                  finding.roc.auc_interval.low, finding.roc.auc_interval.high),
                      with_interval(finding.roc.tpr, finding.roc.tpr_interval)});
    }
  }
  return rows;
}

/// Both axes logarithmic: what counts is the left end, where hardly anybody is accused wrongly.
std::string chart_of(const std::vector<Variant>& variants, const std::string& target) {
  LineChart chart;
  chart.title = target == "model"    ? "Membership inference against the last model"
                : target == "models" ? "Membership inference against the models of several rounds"
                                     : "Membership inference against single reports";
  chart.x_label = "false-positive rate";
  chart.y_label = "true-positive rate";
  chart.x_log = true;
  chart.y_log = true;
  chart.width = 680.0;
  chart.plot_height = 340.0;
  double least = 0.1;
  for (const Variant& variant : variants) {
    for (const MembershipFinding& finding : variant.found.findings) {
      if (finding.target != target || finding.attack == "likelihood-ratio-offline") continue;
      least = std::min(least,
                       1.0 / static_cast<double>(std::max<std::uint64_t>(1, finding.roc.others)));
      chart.series.push_back({variant.name + ", " + finding.attack, finding.roc.curve});
    }
  }
  chart.series.push_back({"guessing", {{least, least}, {1.0, 1.0}}});
  return to_svg(chart);
}

Result<void> write_files(const Arguments& arguments, const std::vector<Variant>& variants,
                         const Json& json) {
  const std::filesystem::path out = arguments.out;
  FindingsPage page;
  page.heading = "Membership inference: " + arguments.recipe;
  page.below = fmt::format("{} runs on halves of {} samples \u00b7 seed {}", arguments.runs,
                           with_commas(arguments.population), arguments.seed);
  page.columns = header(arguments.fpr);
  page.rows = cells_of(variants);
  const std::pair<const char*, const char*> charts[] = {
      {"model", "roc.svg"}, {"models", "roc-models.svg"}, {"report", "roc-report.svg"}};
  for (const auto& [target, file] : charts) {
    const auto& findings = variants.front().found.findings;
    const bool found = std::any_of(findings.begin(), findings.end(),
                                   [&, name = std::string_view(target)](const auto& finding) {
                                     return finding.target == name;
                                   });
    if (found) page.figures.push_back({file, chart_of(variants, target)});
  }
  SOTTO_CHECK(write_findings_page(out, page));
  return write_file_atomically(out / "results.json", json.dump(2) + '\n');
}

Result<int> run(const Arguments& arguments) {
  if (!arguments.run.empty() && !arguments.mechanisms.empty()) {
    return fail(ErrorKind::kUsage,
                "membership: --run attacks the model of a run, whose mechanism is its recipe's; "
                "--mechanism does not go with it");
  }
  for (const char* name : {"--models", "--reports", "--round"}) {
    if (arguments.run.empty() || arguments.command->get_option(name)->count() == 0) continue;
    return fail(ErrorKind::kUsage, std::string("membership: ") + name +
                                       " does not go with --run: a finished run leaves neither its "
                                       "reports nor the models of earlier rounds");
  }
  SOTTO_TRY(std::vector<Variant> variants, variants_of(arguments));
  SOTTO_TRY(DataSplit data, load_data(data_request(variants.front().recipe, arguments.data)));
  const auto shared = std::make_shared<const DataSplit>(std::move(data));
  {
    Progress progress("runs");
    for (std::size_t i = 0; i < variants.size(); ++i) {
      MembershipAttack attack;
      attack.recipe = variants[i].recipe;
      attack.data = shared;
      attack.population = arguments.population;
      attack.runs = arguments.runs;
      attack.reports = arguments.reports;
      attack.report_round = arguments.round;
      attack.models = arguments.models;
      attack.seed = arguments.seed;
      attack.threads = thread_count(arguments.threads);
      attack.roc.limit = arguments.fpr;
      attack.roc.seed = arguments.seed;
      attack.roc.threads = attack.threads;
      if (!arguments.run.empty()) {
        SOTTO_TRY(attack.model, model_of_run(arguments.run, attack.recipe));
      }
      const Stopwatch clock;
      const auto shown = [&](std::uint64_t done, std::uint64_t total) {
        progress.update(i * total + done, variants.size() * total, variants[i].label);
      };
      SOTTO_TRY(variants[i].found, infer_membership(attack, make_engine, shown));
      variants[i].seconds = clock.seconds();
    }
  }
  Json json = {{"attack", "membership"},
               {"recipe", arguments.recipe},
               {"run", arguments.run.empty() ? Json(nullptr) : Json(arguments.run)},
               {"population", arguments.population},
               {"runs", arguments.runs},
               {"seed", arguments.seed},
               {"mechanisms", Json::array()}};
  for (const Variant& variant : variants) json["mechanisms"].push_back(to_json(variant));
  if (!arguments.out.empty()) SOTTO_CHECK(write_files(arguments, variants, json));
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  Table table(header(arguments.fpr));
  for (auto& row : cells_of(variants)) table.add(std::move(row));
  fmt::print("Membership inference, {} runs on halves of {} samples{}.\n\n{}", arguments.runs,
             with_commas(arguments.population),
             arguments.run.empty() ? ", each the target once"
                                   : " as shadows of the model in " + arguments.run,
             table.text());
  fmt::print(
      "\nAUC 0.5 and a TPR equal to the FPR are guessing. Intervals: 95 %, bootstrap over "
      "samples and runs.\n");
  if (!arguments.out.empty()) {
    fmt::print("files in {}: results.json, roc*.svg, report.html\n", arguments.out);
  }
  return 0;
}

}  // namespace

void add_membership(CLI::App& attack, Action& action) {
  CLI::App* const sub = attack.add_subcommand(
      "membership", "Infer whether a sample was used, from models and from single reports");
  auto arguments = choose<Arguments>(*sub, action, run);
  arguments->command = sub;
  sub->add_option("recipe", arguments->recipe, "the recipe whose runs are attacked")
      ->required()
      ->type_name("RECIPE.toml");
  sub->add_option("--set", arguments->settings, "override a key of the recipe (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--mechanism", arguments->mechanisms,
                  "NAME or NAME:KEY=VALUE,... instead of the recipe's; repeatable. KEY is one of "
                  "[privacy], or a whole one such as bound.payload")
      ->type_name("MECH")
      ->allow_extra_args(false);
  sub->add_option("--run", arguments->run,
                  "attack the model in this folder of a finished run of the recipe")
      ->type_name("DIR");
  sub->add_option("--population", arguments->population,
                  "samples, of which each run is trained on one half")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--runs", arguments->runs, "runs: each is the target once, others its shadows")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--reports", arguments->reports,
                  "clients of each run whose single reports are attacked as well; 0: none")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--models", arguments->models,
                  "rounds of each run whose released models are attacked together; 1: the last")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--round", arguments->round, "the round of these reports")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--fpr", arguments->fpr, "the false-positive rate at which members are counted")
      ->capture_default_str()
      ->type_name("RATE")
      ->check(CLI::Range(0.0, 1.0));
  sub->add_option("--data", arguments->data,
                  "folder with data sets; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--seed", arguments->seed, "of population, halves and everything in the runs")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--threads", arguments->threads, "runs side by side; default all cores")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--out", arguments->out,
                  "folder for results.json, pictures and a page ('sotto report' shows it)")
      ->type_name("DIR");
  sub->add_flag("--json", arguments->json, "print the results as JSON; null stands for infinite");
  sub->footer(
      "Attacks: loss (one threshold for all samples) and likelihood-ratio (shadow models; online:\n"
      "with and without the sample; offline: without it alone). See docs/guides/attack.md.\n\n"
      "Examples:\n"
      "  sotto attack membership recipes/embedded.toml --population 400 --runs 8\n"
      "  sotto attack membership recipes/embedded.toml --mechanism none\n"
      "    --mechanism two-point:epsilon=1,radius=0.1 --set federation.clients=4 --out attacked\n"
      "  sotto attack membership recipes/embedded.toml --run runs/embedded-1");
}

}  // namespace sotto::cli
