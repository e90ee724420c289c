#include "account_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "account/training_plan.h"
#include "account_bounds.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

constexpr double kDefaultRounds[] = {100, 200, 400, 1000, 3000};
constexpr std::size_t kMostRows = 50;
constexpr double kMostPlannedRounds = 1e6;

/// Early rounds of the same training in which every client reports one vector for a mean, with the
/// mechanism's own cap.
struct Statistics {
  double share = 0.0;
  std::uint64_t rounds = 1;
  std::uint64_t dimension = 0;
  Plan plan;  // alone
  double squared_error = 0.0;
  PrivacyLoss loss;
  double coupling = 0.0;
};

MakeReport maker(ReportOptions report, std::size_t dimension) {
  report.mechanism.dimension = dimension;
  return [report = std::move(report)](double epsilon0, std::optional<double> cap) {
    MechanismOptions options = report.mechanism;
    options.set["epsilon"] = epsilon0;
    if (cap && !options.set.contains("cap")) options.set["cap"] = *cap;
    return options.make(*options.dimension);
  };
}

Result<void> check_list(const char* option, const std::vector<double>& list, double low,
                        double high) {
  if (list.size() > kMostRows) {
    return fail(ErrorKind::kUsage, fmt::format("{}: at most {} rows", option, kMostRows));
  }
  for (const double each : list) {
    if (each >= low && each <= high && each == std::floor(each)) continue;
    return fail(ErrorKind::kUsage, fmt::format("{} {}: must be whole numbers in [{}, {}]", option,
                                               each, short_number(low), short_number(high)));
  }
  return {};
}

Result<void> check(const TrainingArguments& arguments, const ReportOptions& report,
                   const Training& training) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(report.mechanism.name));
  if (!takes(*info, "cap")) {
    return fail(ErrorKind::kUsage,
                "a plan of epsilon0 and rounds together needs a mechanism with "
                "a cap to choose: --mechanism privunit; for " +
                    report.mechanism.name + " give --epsilon or --rounds");
  }
  if (report.mechanism.set.contains("cap")) {
    return fail(ErrorKind::kUsage, "--cap: the plan chooses it; give --rounds too to keep it");
  }
  if (training.local || training.sampling < 1.0) {
    return fail(ErrorKind::kUsage,
                std::string(training.local ? "--local" : "--sampling") +
                    " does not go with a plan of epsilon0 and rounds together: it is for clients "
                    "behind a shuffler that are in every round");
  }
  if (arguments.statistics_share.has_value() != arguments.statistics_dimension.has_value()) {
    return fail(ErrorKind::kUsage, "--statistics-share and --statistics-dimension: give both");
  }
  if (arguments.statistics_rounds && !arguments.statistics_share) {
    return fail(ErrorKind::kUsage, "--statistics-rounds needs --statistics-share");
  }
  SOTTO_CHECK(check_list("--over-rounds", arguments.over_rounds, 1.0, kMostPlannedRounds));
  return check_list("--over-clients", arguments.over_clients, 2.0, kMostOfAny);
}

/// They may cost the share of the squared ratio of the Gaussian noise that costs the target.
Result<Statistics> plan_statistics(const TrainingArguments& arguments, const ReportOptions& report,
                                   const TrainingQuestion& question) {
  Statistics found;
  found.share = *arguments.statistics_share;
  found.rounds = whole(arguments.statistics_rounds);
  found.dimension = whole(arguments.statistics_dimension);
  const double ratio = gaussian_ratio_of(question.target_epsilon, question.delta);
  const double target = gaussian_epsilon_of(ratio * std::sqrt(found.share), question.delta);
  const MakeReport make = maker(report, static_cast<std::size_t>(found.dimension));
  Training training;
  training.rounds = found.rounds;
  training.clients = question.clients;
  training.delta = question.delta;
  training.least_epsilon0 = question.least_epsilon0;
  training.most_epsilon0 = question.most_epsilon0;
  training.background = [make](double epsilon0, std::uint64_t) -> Result<Background> {
    SOTTO_TRY(const auto mechanism, make(epsilon0, std::nullopt));
    return mechanism->background(0, mechanism->outputs());
  };
  SOTTO_TRY(found.plan, make_plan(training, PlanUnknown::kEpsilon0, target));
  if (!found.plan.possible) {
    return fail(ErrorKind::kRefused,
                fmt::format("--statistics-share {}: among {} clients no epsilon0 costs as little "
                            "as {}",
                            found.share, with_commas(question.clients), short_number(target)));
  }
  SOTTO_TRY(const auto mechanism, make(found.plan.value, std::nullopt));
  const Background background = mechanism->background(0, mechanism->outputs());
  found.squared_error = squared_error_of(*mechanism);
  found.loss = PrivacyLoss::shuffled(background, question.clients).times(found.rounds);
  found.coupling = background.coupling * static_cast<double>(question.clients) *
                   static_cast<double>(found.rounds) * (1.0 + 1e-12);
  return found;
}

nlohmann::ordered_json statistics_json(const Statistics& statistics) {
  return {{"share", statistics.share},
          {"rounds", statistics.rounds},
          {"dimension", statistics.dimension},
          {"epsilon0", statistics.plan.value},
          {"epsilon", number_json(statistics.plan.price.epsilon)},
          {"squared_error", statistics.squared_error}};
}

nlohmann::ordered_json row_json(const PlannedTraining& row) {
  return {{"clients", row.clients},
          {"rounds", row.rounds},
          {"messages", row.messages},
          {"possible", row.possible},
          {"epsilon0", row.epsilon0},
          {"cap", row.cap},
          {"squared_error", row.squared_error},
          {"signal", row.signal},
          {"worth", static_cast<double>(row.clients) * std::sqrt(row.signal)},
          {"epsilon", number_json(row.price.epsilon)},
          {"noise_epsilon", number_json(row.noise_epsilon)},
          {"bytes", row.bytes},
          {"bound", row.price.name}};
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

/// Down, so that no share looks better than it is.
std::string share_text(double share) { return percent(std::floor(1000.0 * share) / 1000.0); }

/// Up, so that no epsilon does.
std::string up(double epsilon) { return fmt::format("{:.4f}", std::ceil(1e4 * epsilon) / 1e4); }

void print_rows(const std::vector<PlannedTraining>& rows, double target, double delta) {
  Table table({"clients", "rounds", "messages", "epsilon0", "cap", "signal left", "worth",
               "sent a round", "client's epsilon", "against noise"});
  for (const PlannedTraining& row : rows) {
    std::vector<std::string> cells = {with_commas(row.clients), with_commas(row.rounds),
                                      with_commas(row.messages)};
    if (row.possible) {
      const double worth = static_cast<double>(row.clients) * std::sqrt(row.signal);
      cells.insert(cells.end(),
                   {fmt::format("{}", row.epsilon0), short_number(row.cap), share_text(row.signal),
                    with_commas(static_cast<std::uint64_t>(worth)), byte_size(row.bytes),
                    up(*row.price.epsilon), row.noise_epsilon ? up(*row.noise_epsilon) : "-"});
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", "above the target", "-"});
    }
    table.add(std::move(cells));
  }
  fmt::print(
      "epsilon {} of a client over the whole training, delta {}, every client in every round:\n\n"
      "{}\n"
      "signal left: of what a trusted curator's Gaussian noise leaves at the same guarantee, in\n"
      "squared signal over noise, however many rounds it takes. worth: so many clients of a "
      "curator\n"
      "give as much. Messages are independent reports of one gradient, each in a batch of its "
      "own:\n"
      "they cost and bring what rounds do, and no new gradient. client's epsilon: its data "
      "replaced\n"
      "by any other. against noise: its reports replaced by pure noise, for comparison with\n"
      "add/remove adjacency.\n",
      target, delta, table.text());
}

void print_recipe(const PlannedTraining& row, double delta,
                  const std::optional<Statistics>& statistics) {
  // A recipe's rounds are those for the mean and all others.
  const std::uint64_t earlier = statistics ? statistics->rounds : 0;
  fmt::print(
      "\nThe first row as a recipe:\n"
      "  federation.rounds = {}\n"
      "  privacy = {{ mechanism = \"privunit\", epsilon = {}, cap = {}, norm = 1{} }}\n"
      "  bound = {{ payload = \"gradient\", normalize = true }}\n"
      "  shuffle = {{ mode = \"shuffler\", min_batch = {} }}\n"
      "  account.delta = {}\n",
      row.rounds + earlier, row.epsilon0, row.cap,
      row.messages > 1 ? fmt::format(", messages = {}", row.messages) : "", row.clients, delta);
  if (statistics) {
    fmt::print("  statistics = {{ mean = \"private\", rounds = {}, epsilon = {} }}\n", earlier,
               statistics->plan.value);
  }
}

void print_statistics(const Statistics& statistics, std::uint64_t clients) {
  const double reports = static_cast<double>(clients) * static_cast<double>(statistics.rounds);
  fmt::print(
      "Before them, {} for a mean of {} numbers: epsilon0 {}, {} of the budget. The mean of\n"
      "vectors of length 1 has a squared error of {}.\n",
      counted(statistics.rounds, "round"), with_commas(statistics.dimension), statistics.plan.value,
      percent(statistics.share), short_number(statistics.squared_error / reports));
}

/// Options that ask for different tables.
Result<void> check_rows(const TrainingArguments& arguments, std::optional<double> rounds,
                        std::uint64_t clients) {
  const auto both = [](const char* one, const char* other) {
    return fail(ErrorKind::kUsage, std::string(one) + " and " + other + ": give one of them");
  };
  const bool list = !arguments.over_rounds.empty(), crowd = !arguments.over_clients.empty();
  if (list && rounds) return both("--rounds", "--over-rounds");
  if (arguments.signal) {
    if (rounds && arguments.messages) return both("--signal finds one: --rounds", "--messages");
    if (list) return both("--signal", "--over-rounds");
    if (crowd) return both("--signal", "--over-clients");
  }
  if (crowd) {
    if (list) return both("--over-clients", "--over-rounds");
    if (clients > 1) return both("--clients", "--over-clients");
    if (arguments.statistics_share) return both("--over-clients", "--statistics-share");
    if (!rounds) return fail(ErrorKind::kUsage, "--over-clients needs --rounds");
  } else if (clients < 2) {
    return fail(ErrorKind::kUsage,
                "--clients: needed, 2 at least: who hides in a batch; or --over-clients");
  }
  return {};
}

Result<std::vector<PlannedTraining>> plan_rows(const TrainingArguments& arguments,
                                               TrainingQuestion question,
                                               std::optional<double> rounds) {
  const std::uint64_t messages = whole(arguments.messages);
  std::vector<double> list(std::begin(kDefaultRounds), std::end(kDefaultRounds));
  if (!arguments.over_rounds.empty()) list = arguments.over_rounds;
  if (rounds) list = {*rounds};
  const bool crowd = !arguments.over_clients.empty();
  if (crowd) list = arguments.over_clients;
  Progress progress("planning");
  std::vector<PlannedTraining> rows;
  const std::size_t tasks = arguments.signal ? 3 : list.size();
  const PlanProgress shown = [&](std::size_t done, std::size_t expected) {
    constexpr std::size_t kParts = 100;
    const std::size_t part =
        std::min(kParts - 1, kParts * done / std::max<std::size_t>(1, expected));
    progress.update(std::min(rows.size() * kParts + part, tasks * kParts - 1), tasks * kParts);
  };
  if (arguments.signal) {
    SOTTO_TRY(const PlannedTraining row,
              plan_for_signal(question, *arguments.signal, rounds ? whole(rounds) : 0,
                              rounds ? 0 : messages, shown));
    return std::vector<PlannedTraining>{row};
  }
  for (const double each : list) {
    if (crowd) question.clients = static_cast<std::uint64_t>(each);
    SOTTO_TRY(const PlannedTraining row,
              plan_training(question, static_cast<std::uint64_t>(crowd ? *rounds : each), messages,
                            shown));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

const char* TrainingArguments::given() const {
  if (!over_rounds.empty()) return "--over-rounds";
  if (!over_clients.empty()) return "--over-clients";
  if (messages) return "--messages";
  if (signal) return "--signal";
  if (statistics_share) return "--statistics-share";
  if (statistics_rounds) return "--statistics-rounds";
  return statistics_dimension ? "--statistics-dimension" : nullptr;
}

void add_training_options(CLI::App& command, TrainingArguments& arguments) {
  const std::size_t before = command.get_options().size();
  command
      .add_option("--over-rounds", arguments.over_rounds,
                  "rows of the table; default 100,200,400,1000,3000")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--over-clients", arguments.over_clients,
                  "rows of a table over numbers of clients, for --rounds")
      ->delimiter(',')
      ->type_name("LIST");
  add_number(command,
             {.name = "messages",
              .low = 1,
              .high = static_cast<double>(kMostMessages),
              .integer = true,
              .meaning = "independent reports that a client sends in a round, each in a batch of "
                         "its own; default 1"},
             arguments.messages);
  add_number(command,
             {.name = "signal",
              .high = 1,
              .low_open = true,
              .meaning = "share of the central model's signal that shall be left: finds the "
                         "fewest rounds, or the fewest messages of --rounds"},
             arguments.signal);
  add_number(command,
             {.name = "statistics-share",
              .high = 0.9,
              .low_open = true,
              .meaning = "share of the budget for early reports for a mean (squared "
                         "ratios of Gaussian noise add up to 1)"},
             arguments.statistics_share);
  add_number(command,
             {.name = "statistics-dimension",
              .low = 2,
              .high = kMostOfAny,
              .integer = true,
              .meaning = "numbers of that mean"},
             arguments.statistics_dimension);
  add_number(command,
             {.name = "statistics-rounds",
              .low = 1,
              .high = 1000,
              .integer = true,
              .meaning = "rounds in which it is reported; default 1"},
             arguments.statistics_rounds);
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) {
    all[i]->group("Plan of epsilon0 and rounds together");
  }
}

Result<int> training_command(const TrainingArguments& arguments, const ReportOptions& report,
                             const Training& training, std::optional<double> rounds, double target,
                             bool json) {
  SOTTO_CHECK(check(arguments, report, training));
  SOTTO_CHECK(check_rows(arguments, rounds, training.clients));
  SOTTO_TRY(const std::size_t dimension, report.mechanism.input_size(MechanismKind::kVector));
  TrainingQuestion question;
  question.target_epsilon = target;
  question.delta = training.delta;
  question.clients = training.clients;
  question.make = maker(report, dimension);
  question.least_epsilon0 = training.least_epsilon0;
  question.most_epsilon0 = training.most_epsilon0;
  std::optional<Statistics> statistics;
  if (arguments.statistics_share) {
    SOTTO_TRY(statistics, plan_statistics(arguments, report, question));
    question.earlier = statistics->loss;
    question.earlier_coupling = statistics->coupling;
  }
  SOTTO_TRY(const std::vector<PlannedTraining> rows, plan_rows(arguments, question, rounds));
  const bool possible = std::ranges::all_of(rows, &PlannedTraining::possible);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PlannedTraining& row : rows) list.push_back(row_json(row));
    const nlohmann::ordered_json out = {
        {"question",
         {{"kind", "training"},
          {"target_epsilon", target},
          {"delta", training.delta},
          {"mechanism", report.mechanism_json()},
          {"dimension", dimension},
          {"signal", number_json(arguments.signal)}}},
        {"possible", possible},
        {"central_ratio", gaussian_ratio_of(target, training.delta)},
        {"statistics", statistics ? statistics_json(*statistics) : nullptr},
        {"rows", std::move(list)}};
    fmt::print("{}\n", out.dump(2));
    return possible ? 0 : 1;
  }
  if (arguments.signal && !possible) {
    fmt::print(stderr,
               "sotto: impossible: {} of {} leave {} of the central model's signal, not {}\n",
               counted(rows[0].rounds, "round"), counted(rows[0].messages, "message"),
               share_text(rows[0].signal), percent(*arguments.signal));
    return 1;
  }
  print_rows(rows, target, training.delta);
  if (statistics) print_statistics(*statistics, training.clients);
  if (rows[0].possible) print_recipe(rows[0], training.delta, statistics);
  return possible ? 0 : 1;
}

}  // namespace sotto::cli
