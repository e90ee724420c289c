// `sotto account plan`: works backwards from the epsilon that a client shall have for the whole
// training to the one number that is still open. The search is account/plan.h.
#include <fmt/format.h>

#include <cmath>

#include "account/plan.h"
#include "account_bounds.h"
#include "account_cap.h"
#include "account_commands.h"
#include "account_report.h"
#include "account_training.h"
#include "base/nearest.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::optional<double> target;
  ReportOptions report;
  std::optional<double> clients;
  std::optional<double> rounds;
  std::optional<double> delta;
  std::optional<double> sampling;
  std::string solve;
  bool local = false;
  bool choose_cap = false;
  bool json = false;
  TrainingArguments whole;  // where epsilon0 and rounds are found together
};

/// A number that can be open: its option, and how an answer speaks of it.
struct Open {
  PlanUnknown unknown;
  const char* name;
  const char* superlative;
};
constexpr std::array<Open, 4> kOpen = {{
    {PlanUnknown::kEpsilon0, "epsilon0", "largest"},
    {PlanUnknown::kSplit, "split", "largest"},
    {PlanUnknown::kRounds, "rounds", "most"},
    {PlanUnknown::kClients, "clients", "fewest"},
}};

bool given(const Arguments& arguments, PlanUnknown unknown) {
  switch (unknown) {
    case PlanUnknown::kEpsilon0:
      return arguments.report.given_epsilon().has_value();
    case PlanUnknown::kSplit:
      return arguments.report.split.has_value();
    case PlanUnknown::kRounds:
      return arguments.rounds.has_value();
    case PlanUnknown::kClients:
      break;
  }
  return arguments.clients.has_value();
}

/// Whether the number matters at all: one weight has no split, without a shuffler nobody else does.
bool matters(const Arguments& arguments, PlanUnknown unknown) {
  if (unknown == PlanUnknown::kSplit) {
    return !arguments.local && arguments.report.weights.value_or(1.0) > 1.0;
  }
  return unknown != PlanUnknown::kClients || !arguments.local;
}

std::string option_of(const Arguments& arguments, const Open& open) {
  const bool mechanism = open.unknown == PlanUnknown::kEpsilon0 && arguments.report.has_mechanism();
  return mechanism ? "--epsilon" : std::string("--") + open.name;
}

Result<void> check(const Arguments& arguments) {
  SOTTO_CHECK(arguments.report.check());
  if (!arguments.local) return {};
  const std::pair<const char*, bool> idle[] = {{"--clients", arguments.clients.has_value()},
                                               {"--split", arguments.report.split.has_value()},
                                               {"--sampling", arguments.sampling.has_value()}};
  for (const auto& [option, was_given] : idle) {
    if (!was_given) continue;
    return fail(ErrorKind::kUsage,
                std::string(option) +
                    " does not matter with --local: a server that sees who sends what learns as "
                    "much whatever the others do");
  }
  return {};
}

/// What is asked for: --solve, or the one number that is not given.
Result<const Open*> find_open(const Arguments& arguments) {
  std::vector<const Open*> missing;
  std::vector<std::string> names, options;
  for (const Open& open : kOpen) {
    names.emplace_back(open.name);
    if (!matters(arguments, open.unknown) || given(arguments, open.unknown)) continue;
    missing.push_back(&open);
    options.push_back(option_of(arguments, open));
  }
  const auto asked = std::find_if(kOpen.begin(), kOpen.end(),
                                  [&](const Open& open) { return arguments.solve == open.name; });
  if (!arguments.solve.empty()) {
    if (asked == kOpen.end()) {
      return fail(ErrorKind::kUsage, "--solve " + arguments.solve + ": valid: " + join(names) +
                                         did_you_mean(arguments.solve, names));
    }
    if (!matters(arguments, asked->unknown)) {
      return fail(ErrorKind::kUsage,
                  "--solve " + arguments.solve +
                      (arguments.local ? " does not go with --local" : " needs --weights above 1"));
    }
    if (given(arguments, asked->unknown)) {
      return fail(ErrorKind::kUsage, "--solve " + arguments.solve + ": but " +
                                         option_of(arguments, *asked) + " is given");
    }
    std::erase(options, option_of(arguments, *asked));
    if (options.empty()) return &*asked;
    return fail(ErrorKind::kUsage, "also needed: " + join(options));
  }
  if (missing.size() == 1) return missing.front();
  if (missing.empty()) {
    return fail(
        ErrorKind::kUsage,
        "everything is given: leave out the number that is to be found, one of " + join(names));
  }
  return fail(ErrorKind::kUsage, "more than one number is open: give all but one of " +
                                     join(options) +
                                     (arguments.local ? "" : "; --local is without a shuffler"));
}

Result<Training> training_of(const Arguments& arguments, PlanUnknown unknown) {
  const ReportOptions& report = arguments.report;
  Training training;
  training.epsilon0 = report.given_epsilon().value_or(0.0);
  training.weights = whole(report.weights);
  training.split = whole(report.split);
  training.rounds = whole(arguments.rounds);
  training.clients = whole(arguments.clients);
  training.local = arguments.local;
  training.sampling = arguments.sampling.value_or(1.0);
  training.delta = arguments.delta.value_or(kDefaultDelta);
  if (training.split > training.weights) {
    return fail(ErrorKind::kUsage, fmt::format("--split {}: must be at most {}, the --weights",
                                               training.split, training.weights));
  }
  SOTTO_CHECK(product(training.weights, training.rounds, "rounds"));
  if (!report.has_mechanism()) return training;
  const bool open = unknown == PlanUnknown::kEpsilon0;
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(report.mechanism.name));
  if (open && !takes(*info, "epsilon")) {
    return fail(ErrorKind::kUsage, report.mechanism.name +
                                       " has no parameter epsilon that could be found; give its "
                                       "parameters and solve for another number");
  }
  for (const ParameterInfo& parameter : info->parameters) {
    if (parameter.name != "epsilon") continue;
    training.least_epsilon0 = std::max(training.least_epsilon0, parameter.low);
    training.most_epsilon0 = std::min(training.most_epsilon0, parameter.high);
  }
  training.background = [report, open](double epsilon, std::uint64_t weights) {
    return report.background(open ? std::optional(epsilon) : std::nullopt, weights);
  };
  return training;
}

std::string value_text(PlanUnknown unknown, double value) {
  return unknown == PlanUnknown::kEpsilon0 ? fmt::format("{}", value)
                                           : with_commas(static_cast<std::uint64_t>(value));
}

nlohmann::ordered_json to_json(const Arguments& arguments, const Training& training,
                               const Open& open, const Plan& plan) {
  const auto unless_open = [&](PlanUnknown unknown, const nlohmann::ordered_json& value) {
    return plan.unknown == unknown || !matters(arguments, unknown) ? nlohmann::ordered_json(nullptr)
                                                                   : value;
  };
  const auto number = [&](const std::optional<double>& value) -> nlohmann::ordered_json {
    if (!value) return nullptr;
    if (plan.unknown == PlanUnknown::kEpsilon0) return *value;
    return static_cast<std::uint64_t>(*value);
  };
  nlohmann::ordered_json json = {
      {"question",
       {{"kind", "plan"},
        {"target_epsilon", *arguments.target},
        {"delta", training.delta},
        {"solve", open.name},
        {"epsilon0",
         unless_open(PlanUnknown::kEpsilon0, number_json(arguments.report.given_epsilon()))},
        {"mechanism", arguments.report.mechanism_json()},
        {"weights", training.weights},
        {"split", unless_open(PlanUnknown::kSplit, training.split)},
        {"rounds", unless_open(PlanUnknown::kRounds, training.rounds)},
        {"clients", unless_open(PlanUnknown::kClients, training.clients)},
        {"sampling", training.sampling},
        {"local", training.local}}},
      {"possible", plan.possible},
      {"value", plan.possible ? number(plan.value) : nullptr},
      {"epsilon", plan.possible ? number_json(plan.price.epsilon) : nullptr},
      {"bound", plan.price.name},
      {"theorem", plan.price.theorem},
      {"assumption", plan.price.assumption},
      {"next", number(plan.next)},
      {"next_epsilon", plan.next_price ? number_json(plan.next_price->epsilon) : nullptr}};
  json["reachable"] = nullptr;
  if (!plan.possible) {
    json["reachable"] = {{"value", number(plan.value)},
                         {"epsilon", number_json(plan.price.epsilon)}};
  }
  return json;
}

void print_plan(const Arguments& arguments, const Open& open, const Plan& plan) {
  const std::string target = fmt::format("epsilon {} at delta {}", *arguments.target,
                                         arguments.delta.value_or(kDefaultDelta));
  if (!plan.possible) {
    fmt::print(stderr,
               "sotto: impossible: no {0} gives a client {1} over the whole training; even {0} {2} "
               "costs epsilon {3}, by {4}\n",
               open.name, target, value_text(plan.unknown, plan.value),
               judged_epsilon(*plan.price.epsilon), plan.price.theorem);
    return;
  }
  fmt::print("{} {}: {}\n\n", open.superlative, open.name, value_text(plan.unknown, plan.value));
  Table table({"", open.name, "client's epsilon, whole training", ""});
  table.add({"answer", value_text(plan.unknown, plan.value), epsilon_text(*plan.price.epsilon),
             "meets " + target});
  if (plan.next) {
    table.add({"next", value_text(plan.unknown, *plan.next),
               epsilon_text(*plan.next_price->epsilon), "misses it"});
  }
  fmt::print("{}\n{}: {}\nassumption: {}\n", table.text(), plan.price.name, plan.price.theorem,
             plan.price.assumption);
  if (!plan.next) fmt::print("There is no next value that would miss it.\n");
}

nlohmann::ordered_json cap_json(const CapChoice& choice) {
  return {{"cap", choice.cap},
          {"epsilon", choice.epsilon0},
          {"squared_error", choice.squared_error},
          {"client_epsilon", number_json(choice.plan.price.epsilon)}};
}

void print_caps(const CapPlan& caps) {
  Table table({"", "privacy.epsilon", "privacy.cap", "squared error", "client's epsilon"});
  const std::pair<const char*, const CapChoice*> rows[] = {{"best", &caps.best},
                                                           {"privunit's own", &caps.by_default}};
  for (const auto& [name, choice] : rows) {
    table.add({name, fmt::format("{}", choice->epsilon0), short_number(choice->cap),
               short_number(choice->squared_error), epsilon_text(*choice->plan.price.epsilon)});
  }
  fmt::print("\n{}", table.text());
}

Result<int> cap_command(const Arguments& arguments, const Open& open, const Training& training) {
  if (open.unknown != PlanUnknown::kEpsilon0) {
    return fail(ErrorKind::kUsage,
                "--choose-cap finds epsilon0 with it: give --rounds and "
                "--clients, and no --epsilon");
  }
  Progress progress("searching");
  SOTTO_TRY(const CapPlan caps,
            choose_cap(arguments.report, training, *arguments.target,
                       [&](std::size_t done, std::size_t all) { progress.update(done, all); }));
  progress.clear();
  const Plan& plan = caps.best.plan;
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(arguments, training, open, plan);
    json["best"] = cap_json(caps.best);
    json["preset"] = cap_json(caps.by_default);
    fmt::print("{}\n", json.dump(2));
  } else {
    print_plan(arguments, open, plan);
    if (plan.possible) print_caps(caps);
  }
  return plan.possible ? 0 : 1;
}

/// Whether epsilon0 and rounds are asked for together.
bool plans_training(const Arguments& arguments) {
  const ReportOptions& report = arguments.report;
  if (!report.has_mechanism() || report.given_epsilon() || !arguments.solve.empty()) return false;
  const auto info = find_mechanism(report.mechanism.name);
  if (!info || !takes(**info, "cap")) return false;
  return arguments.whole.given() != nullptr ||
         (!arguments.rounds && !arguments.local && !arguments.choose_cap);
}

Result<int> plan_command(const Arguments& arguments) {
  SOTTO_CHECK(check(arguments));
  if (plans_training(arguments)) {
    SOTTO_TRY(const Training training, training_of(arguments, PlanUnknown::kEpsilon0));
    return training_command(arguments.whole, arguments.report, training, arguments.rounds,
                            *arguments.target, arguments.json);
  }
  if (const char* const option = arguments.whole.given()) {
    return fail(ErrorKind::kUsage, std::string(option) +
                                       " is for a plan of epsilon0 and rounds together: give "
                                       "--mechanism privunit and no --epsilon or --solve");
  }
  SOTTO_TRY(const Open* const open, find_open(arguments));
  SOTTO_TRY(const Training training, training_of(arguments, open->unknown));
  if (arguments.choose_cap) return cap_command(arguments, *open, training);
  Progress progress("searching");
  SOTTO_TRY(const Plan plan,
            make_plan(training, open->unknown, *arguments.target,
                      [&](std::size_t done, std::size_t all) { progress.update(done, all); }));
  progress.clear();
  if (arguments.json) {
    fmt::print("{}\n", to_json(arguments, training, *open, plan).dump(2));
  } else {
    print_plan(arguments, *open, plan);
  }
  return plan.possible ? 0 : 1;
}

}  // namespace

void add_account_plan(CLI::App& account, Action& action) {
  CLI::App& command = *account.add_subcommand(
      "plan", "the epsilon0, split, rounds or clients that meet a client's epsilon");
  auto arguments = std::make_shared<Arguments>();
  add_number(command,
             {.name = "target-epsilon",
              .high = 1e6,
              .low_open = true,
              .meaning = "of a client, over the whole training"},
             arguments->target)
      ->required();
  add_delta(command, arguments->delta);
  add_report_options(command, arguments->report);
  add_rounds(command, arguments->rounds)->description("rounds that the client takes part in");
  add_clients(command, arguments->clients);
  add_sampling(command, arguments->sampling);
  command.add_flag("--local", arguments->local, "no shuffler: the server sees who sent what");
  command
      .add_option("--solve", arguments->solve,
                  "epsilon0, split, rounds or clients; default: the one that is not given")
      ->type_name("NUMBER");
  command.add_flag("--choose-cap", arguments->choose_cap,
                   "privunit: also the cap with the least error at the target");
  command.add_flag("--json", arguments->json, "print JSON");
  add_training_options(command, arguments->whole);
  command.footer(
      "Finds the largest epsilon0 (of five digits), split or number of rounds, or the fewest\n"
      "clients, and shows the next value, which misses the target. Exit code 1 where no value\n"
      "meets it, with the least epsilon that can be reached.\n"
      "With --mechanism privunit, and neither --epsilon nor --rounds: epsilon0 and cap for each "
      "of\n"
      "several numbers of rounds, and the share of a central model's signal that each leaves.\n\n"
      "Examples:\n"
      "  sotto account plan --target-epsilon 8 --delta 1e-6 --clients 60000 --rounds 100\n"
      "  sotto account plan --target-epsilon 8 --epsilon0 1 --clients 60000\n"
      "  sotto account plan --target-epsilon 8 --epsilon0 1 --weights 20490 --split 1 --rounds 1\n"
      "  sotto account plan --target-epsilon 8 --local --weights 20490 --rounds 10\n"
      "  sotto account plan --target-epsilon 1 --mechanism privunit --dimension 8340 \\\n"
      "    --clients 60000 --rounds 100 --json | jq .value\n"
      "  sotto account plan --target-epsilon 1 --mechanism privunit --dimension 8340 \\\n"
      "    --clients 60000 --rounds 100 --choose-cap\n"
      "  sotto account plan --target-epsilon 1 --mechanism privunit --dimension 8340 --clients "
      "60000\n"
      "  sotto account plan --target-epsilon 1 --mechanism privunit --dimension 8340 \\\n"
      "    --clients 60000 --rounds 200 --signal 0.4 --json | jq '.rows[0]'");
  command.callback(
      [&action, arguments] { action = [arguments] { return plan_command(*arguments); }; });
}

}  // namespace sotto::cli
