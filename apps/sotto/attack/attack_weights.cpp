// sotto attack weight-inference: what averaging the reports of a weight reveals, on numbers.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attack/weight_inference.h"
#include "attack_commands.h"
#include "attack_weights_shown.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_number.h"
#include "base/parallel.h"
#include "mechanism_choice.h"
#include "mechanism_options.h"
#include "report/chart.h"
#include "report/findings.h"
#include "report/markup.h"
#include "server/setup.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  WatchArguments watch;  // of a recipe
  std::vector<std::string> mechanisms;
  std::vector<double> epsilons = {1.0};
  std::vector<std::uint64_t> clients = {1000};
  std::vector<std::uint64_t> rounds = {50};
  std::vector<double> deviations = {0.0};
  std::uint64_t repetitions = 100;
  double weight = 0.2;
  double tolerance = 0.0;
  std::string range = "0,1";
  const CLI::App* command = nullptr;

  bool given(const std::string& name) const { return command->get_option(name)->count() > 0; }
};

/// An option that means nothing in the form that was asked for is an error: silence would let
/// people believe that it was heard.
Result<void> check_form(const Arguments& arguments) {
  const bool recipe = !arguments.watch.recipe.empty();
  const std::vector<std::string> numbers = {"--epsilon", "--clients", "--sigma",      "--tolerance",
                                            "--weight",  "--range",   "--repetitions"};
  const std::vector<std::string> runs = {"--set", "--data", "--tensor", "--weights"};
  for (const std::string& name : recipe ? numbers : runs) {
    if (!arguments.given(name)) continue;
    return fail(ErrorKind::kUsage,
                "weight-inference: " + name +
                    (recipe ? " is for the attack on numbers; what a run does is in its recipe "
                              "(--set KEY=VALUE)"
                            : " goes with a recipe, and none was given"));
  }
  if (recipe && arguments.rounds.size() > 1) {
    return fail(ErrorKind::kUsage, "weight-inference: with a recipe --rounds is one number");
  }
  return {};
}

/// What is asked for and what came of it.
struct Row {
  std::string label;
  WeightAttack attack;
  WeightInference found;
  double seconds = 0.0;
};

/// A mechanism with each epsilon, or as it is where it has none or its own is given.
Result<std::vector<std::pair<std::string, WeightAttack>>> with_epsilons(
    const MechanismChoice& choice, const Arguments& arguments) {
  std::vector<std::pair<std::string, WeightAttack>> all;
  WeightAttack attack;
  attack.mechanism = choice.info->name;
  SOTTO_TRY(attack.parameters, choice.parameters());
  SOTTO_TRY(attack.range, parse_range(arguments.range));
  const bool fixed = !takes(*choice.info, "epsilon") || attack.parameters.contains("epsilon") ||
                     attack.parameters.contains("alpha");
  if (fixed) {
    all.emplace_back(choice.text, attack);
    return all;
  }
  for (const double epsilon : arguments.epsilons) {
    attack.parameters["epsilon"] = epsilon;
    all.emplace_back(choice.text, attack);
  }
  return all;
}

Result<std::vector<Row>> rows_of(const Arguments& arguments) {
  std::vector<std::string> names = arguments.mechanisms;
  if (names.empty()) {
    for (const MechanismInfo& info : mechanisms()) {
      if (info.kind == MechanismKind::kValue) names.emplace_back(info.name);
    }
  }
  std::vector<Row> rows;
  for (const std::string& name : names) {
    SOTTO_TRY(const MechanismChoice choice, parse_choice(name));
    SOTTO_TRY(const auto attacks, with_epsilons(choice, arguments));
    for (const auto& [label, attack] : attacks) {
      for (const std::uint64_t clients : arguments.clients) {
        for (const double deviation : arguments.deviations) {
          for (const std::uint64_t rounds : arguments.rounds) {
            Row row{label, attack, {}, 0.0};
            row.attack.clients = clients;
            row.attack.deviation = deviation;
            row.attack.rounds = rounds;
            row.attack.repetitions = arguments.repetitions;
            row.attack.weight = arguments.weight;
            row.attack.tolerance = arguments.tolerance;
            row.attack.seed = arguments.watch.seed;
            row.attack.threads = thread_count(arguments.watch.threads);
            rows.push_back(std::move(row));
          }
        }
      }
    }
  }
  return rows;
}

Json maybe(const std::optional<Estimate>& estimate) {
  return estimate ? Json(estimate->mean) : Json(nullptr);
}
Json to_json(const Row& row) {
  const WeightFinding& last = row.found.last();
  const WeightTheory& theory = row.found.theory;
  Json by_round = Json::array();
  for (const WeightFinding& finding : row.found.by_round) {
    by_round.push_back({{"round", finding.rounds},
                        {"error", finding.error.mean},
                        {"error_to_round", finding.error_to_round.mean},
                        {"confidence", maybe(finding.confidence)}});
  }
  return {{"mechanism", row.attack.mechanism},
          {"parameters", row.attack.parameters},
          {"clients", row.attack.clients},
          {"deviation", row.attack.deviation},
          {"tolerance", row.attack.tolerance},
          {"rounds", row.attack.rounds},
          {"error", last.error.mean},
          {"standard_error", last.error.standard_error},
          {"theory", theory.error},
          {"error_to_round", last.error_to_round.mean},
          {"theory_to_round", theory.error_to_round},
          {"error_to_weight", last.error_to_weight.mean},
          {"theory_to_weight", theory.error_to_weight},
          {"corrected", maybe(last.corrected)},
          {"confidence", maybe(last.confidence)},
          {"theory_confidence", theory.confidence ? Json(*theory.confidence) : Json(nullptr)},
          {"bias", theory.bias},
          {"report_deviation", theory.deviation},
          {"exact_epsilon", number_or_null<Json>(row.found.exact_epsilon)},
          {"client_epsilon", number_or_null<Json>(row.found.client_epsilon)},
          {"seconds", row.seconds},
          {"by_round", std::move(by_round)}};
}

std::string label_of(const Row& row) {
  const auto epsilon = row.attack.parameters.find("epsilon");
  std::string text = row.label;
  if (epsilon != row.attack.parameters.end() && text.find("epsilon") == std::string::npos) {
    text += ", epsilon " + short_number(epsilon->second);
  }
  return text;
}

const std::vector<std::string> kHeader = {"mechanism",   "clients",
                                          "deviation",   "rounds",
                                          "error",       "theory",
                                          "to round",    "theory",
                                          "to w",        "theory",
                                          "bias undone", "confidence",
                                          "theory",      "epsilon of a client"};

std::vector<std::string> cells_of(const Row& row) {
  const auto share = [](double value) { return fmt::format("{:.3f} %", 100.0 * value); };
  const WeightFinding& last = row.found.last();
  const WeightTheory& theory = row.found.theory;
  return {
      label_of(row),
      with_commas(row.attack.clients),
      short_number(row.attack.deviation),
      with_commas(row.attack.rounds),
      share(last.error.mean),
      share(theory.error),
      share(last.error_to_round.mean),
      share(theory.error_to_round),
      share(last.error_to_weight.mean),
      share(theory.error_to_weight),
      last.corrected ? share(last.corrected->mean) : "-",
      last.confidence ? fmt::format("{:.1f}", last.confidence->mean) : "-",
      theory.confidence ? fmt::format("{:.1f}", *theory.confidence) : "-",
      std::isfinite(row.found.client_epsilon) ? number_up(row.found.client_epsilon) : "infinite"};
}

std::string table_of(const std::vector<Row>& rows) {
  Table table(kHeader);
  for (const Row& row : rows) table.add(cells_of(row));
  return table.text();
}

Result<void> write_files(const std::filesystem::path& out, const std::vector<Row>& rows,
                         const Json& json) {
  LineChart errors;
  errors.title = "Error of the inferred weight";
  errors.x_label = "rounds that the server has seen";
  errors.y_label = "error, share of the domain";
  errors.x_log = true;
  errors.y_log = true;
  LineChart confidences;
  confidences.title = "Confidence of the server (equation 10)";
  confidences.x_label = errors.x_label;
  confidences.y_label = "confidence score, at most 100";
  for (const Row& row : rows) {
    Series error{label_of(row), {}};
    Series confidence = error;
    for (const WeightFinding& finding : row.found.by_round) {
      const auto x = static_cast<double>(finding.rounds);
      error.points.emplace_back(x, finding.error.mean);
      if (finding.confidence) confidence.points.emplace_back(x, finding.confidence->mean);
    }
    errors.series.push_back(std::move(error));
    confidences.series.push_back(std::move(confidence));
  }
  SOTTO_CHECK(write_file_atomically(out / "results.json", json.dump(2) + '\n'));
  FindingsPage page{
      "Weight inference", "errors as shares of the domain 2r", "", kHeader, {}, {}, {}};
  for (const Row& row : rows) page.rows.push_back(cells_of(row));
  page.figures = {{"error.svg", to_svg(errors)}, {"confidence.svg", to_svg(confidences)}};
  return write_findings_page(out, page);
}

Result<int> run(const Arguments& arguments) {
  SOTTO_CHECK(check_form(arguments));
  if (!arguments.watch.recipe.empty()) {
    if (!arguments.mechanisms.empty()) {
      return fail(ErrorKind::kUsage,
                  "weight-inference: a recipe names its mechanism itself (--set "
                  "privacy.mechanism=...); --mechanism is for the attack on numbers");
    }
    WatchArguments watch = arguments.watch;
    if (arguments.given("--rounds")) watch.rounds = arguments.rounds.front();
    return attack_run(watch);
  }
  SOTTO_TRY(std::vector<Row> rows, rows_of(arguments));
  {
    Progress progress("attack");
    const std::uint64_t total = rows.size() * arguments.repetitions;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Stopwatch clock;
      SOTTO_TRY(rows[i].found, infer_weight(rows[i].attack, [&](std::uint64_t done, std::uint64_t) {
                  progress.update(i * arguments.repetitions + done, total, rows[i].label);
                }));
      rows[i].seconds = clock.seconds();
    }
  }
  Json json = {{"attack", "weight-inference"},
               {"weight", arguments.weight},
               {"repetitions", arguments.repetitions},
               {"seed", arguments.watch.seed},
               {"rows", Json::array()}};
  for (const Row& row : rows) json["rows"].push_back(to_json(row));
  if (!arguments.watch.out.empty()) SOTTO_CHECK(write_files(arguments.watch.out, rows, json));
  if (arguments.watch.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print(
      "Weight inference against w = {}: mean over {} repetitions, errors as shares of the "
      "domain 2r.\n\n{}",
      short_number(arguments.weight), arguments.repetitions, table_of(rows));
  fmt::print(
      "\nerror: of the average of all decoded reports against the mean of what clients held in all "
      "rounds;\nto round: against what they held in the last round; to w: against w; bias undone: "
      "after inverting the\nmechanism's known mean. The epsilon of a client is for all its reports "
      "of "
      "this one weight together:\naveraging breaks no guarantee, it uses what was given away.\n");
  if (!arguments.watch.out.empty()) {
    fmt::print("files in {}: results.json, error.svg, confidence.svg, report.html\n",
               arguments.watch.out);
  }
  return 0;
}

}  // namespace

void add_weight_inference(CLI::App& attack, Action& action) {
  CLI::App* const sub = attack.add_subcommand(
      "weight-inference", "Infer a weight that clients share, from its reports over rounds");
  auto arguments = choose<Arguments>(*sub, action, run);
  arguments->command = sub;
  add_watch_options(*sub, arguments->watch);
  sub->add_option("--mechanism", arguments->mechanisms,
                  "NAME or NAME:KEY=VALUE,...; repeatable; default every value mechanism")
      ->type_name("MECH")
      ->allow_extra_args(false);
  const auto list = [&](const char* name, auto& target, const char* text) {
    return sub->add_option(name, target, text)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
  };
  list("--epsilon", arguments->epsilons, "for each report of mechanisms that are given none")
      ->type_name("E1,E2,...");
  list("--clients", arguments->clients, "that report in every round")->type_name("N1,N2,...");
  list("--rounds", arguments->rounds, "that the server remembers; of a recipe: that it runs")
      ->type_name("R1,R2,...");
  list("--sigma", arguments->deviations, "deviation of clients' values around the weight")
      ->type_name("S1,S2,...");
  sub->add_option("--weight", arguments->weight, "w, which clients' values scatter around")
      ->capture_default_str()
      ->type_name("W");
  sub->add_option(
         "--tolerance", arguments->tolerance,
         "above 0: values are drawn anew in each round, around w and a shift of all clients "
         "that is uniform up to this far either way")
      ->capture_default_str()
      ->type_name("T");
  sub->add_option("--range", arguments->range, "centre and radius of the mechanism's domain")
      ->capture_default_str()
      ->type_name("C,R");
  sub->add_option("--repetitions", arguments->repetitions, "of the whole attack, for its mean")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
  sub->footer(
      "On numbers, or with a recipe inside a federated run, whose result it does not change.\n\n"
      "Examples:\n"
      "  sotto attack weight-inference\n"
      "  sotto attack weight-inference --mechanism two-point --epsilon 1,2,3,5,8,10\n"
      "  sotto attack weight-inference --mechanism srr:groups=10,step=20 --epsilon 5 "
      "--range 0,0.075 --weight 0.015\n"
      "  sotto attack weight-inference recipes/embedded.toml --set privacy.mechanism=two-point\n"
      "    --set privacy.epsilon=1 --set privacy.radius=0.1 --rounds 5 --tensor 0.weight");
}

}  // namespace sotto::cli
