// `sotto account shuffle`: what is left of a client's epsilon after a shuffler, by every bound.
//
// A chunk of S weights of epsilon0 each is one report of epsilon S * epsilon0 in one batch; batches
// are shuffled independently, and chunks and rounds compose.
#include <fmt/format.h>

#include <cmath>

#include "account/plan.h"
#include "account_bounds.h"
#include "account_commands.h"
#include "account_report.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  ReportOptions report;
  std::optional<double> clients;
  std::optional<double> count;
  std::optional<double> rounds;
  std::optional<double> delta;
  std::optional<double> sampling;
  std::string plot;
  bool json = false;
};

Result<void> check(const Arguments& arguments) {
  const ReportOptions& report = arguments.report;
  SOTTO_CHECK(report.check());
  if (!report.has_mechanism() && !report.epsilon0) {
    return fail(ErrorKind::kUsage, "give --epsilon0 E, or --mechanism NAME with its parameters");
  }
  if (report.weights.has_value() != report.split.has_value()) {
    return fail(ErrorKind::kUsage,
                "--weights and --split: give both; --split 1 shuffles every weight on its own, "
                "--split W all W together");
  }
  if (report.split && *report.split > *report.weights) {
    return fail(ErrorKind::kUsage, fmt::format("--split {}: must be at most {}, the --weights",
                                               *report.split, *report.weights));
  }
  if (arguments.count && report.weights) {
    return fail(ErrorKind::kUsage,
                "--count and --weights: give one of them; the number of chunks follows from "
                "--weights and --split");
  }
  return {};
}

Result<Training> training_of(const Arguments& arguments) {
  SOTTO_CHECK(check(arguments));
  const ReportOptions& report = arguments.report;
  Training training;
  training.epsilon0 = report.given_epsilon().value_or(0.0);
  // Batches that are only counted are chunks of one weight.
  training.weights = whole(report.weights ? report.weights : arguments.count);
  training.split = whole(report.split);
  training.rounds = whole(arguments.rounds);
  training.clients = whole(arguments.clients);
  training.sampling = arguments.sampling.value_or(1.0);
  training.delta = arguments.delta.value_or(kDefaultDelta);
  SOTTO_CHECK(product(training.weights, training.rounds, "rounds"));
  if (report.has_mechanism()) {
    // One distribution for all sizes of a batch: it is not made anew for every point of a plot.
    SOTTO_TRY(const Background chunk, report.background({}, training.split));
    Background rest = chunk;
    if (training.weights % training.split != 0) {
      SOTTO_TRY(rest, report.background({}, training.weights % training.split));
    }
    const std::uint64_t split = training.split;
    training.background = [chunk, rest, split](double, std::uint64_t weights) {
      return Result<Background>(weights == split ? chunk : rest);
    };
  }
  return training;
}

/// A last chunk that is shorter counts as a whole one, but not in the lower bound.
Result<std::vector<Bound>> answer(const Training& training) {
  SOTTO_TRY(const Background chunk, chunk_of(training, training.split));
  ShuffleQuestion question;
  question.epsilon0 = chunk.epsilon;
  question.clients = training.clients;
  question.delta = training.delta;
  question.sampling = training.sampling;
  const std::uint64_t full = training.weights / training.split;
  const std::uint64_t rest = training.weights % training.split;
  question.chunks = full + (rest > 0 ? 1 : 0);
  question.count = question.chunks * training.rounds;
  if (training.background) question.mechanism = chunk;
  std::vector<Bound> bounds = shuffle_bounds(question);
  if (rest == 0) return bounds;
  for (Bound& bound : bounds) {
    if (bound.upper || !bound.valid()) continue;
    SOTTO_TRY(const Background last, chunk_of(training, rest));
    bound.epsilon = PrivacyLoss::shuffled_binary(chunk.epsilon, training.clients)
                        .times(full)
                        .with(PrivacyLoss::shuffled_binary(last.epsilon, training.clients))
                        .times(training.rounds)
                        .epsilon(training.delta);
  }
  return bounds;
}

nlohmann::ordered_json to_json(const Arguments& arguments, const Training& training,
                               double chunk_epsilon) {
  return {{"kind", "shuffle"},
          {"epsilon0", number_json(arguments.report.given_epsilon())},
          {"mechanism", arguments.report.mechanism_json()},
          {"weights", training.weights},
          {"split", training.split},
          {"chunk_epsilon", chunk_epsilon},
          {"clients", training.clients},
          {"rounds", training.rounds},
          {"sampling", training.sampling},
          {"delta", training.delta}};
}

void print_question(const Arguments& arguments, const Training& training, double chunk_epsilon) {
  const std::string sender =
      arguments.report.has_mechanism() ? " of " + arguments.report.mechanism.name : "";
  fmt::print("A report{} with epsilon {} among those of {} clients; delta {}\n", sender,
             epsilon_text(chunk_epsilon), with_commas(training.clients), training.delta);
  const std::uint64_t chunks = (training.weights + training.split - 1) / training.split;
  if (training.split > 1) {
    fmt::print("{} weights travel together: {} chunks for {} weights\n",
               with_commas(training.split), with_commas(chunks), with_commas(training.weights));
  }
  if (chunks * training.rounds > 1) {
    fmt::print("{} batches with a report of this client: {} in each of {} rounds\n",
               with_commas(chunks * training.rounds), with_commas(chunks),
               with_commas(training.rounds));
  }
  if (training.sampling < 1.0) {
    fmt::print("The client takes part in a round with probability {}, unseen\n", training.sampling);
  }
  fmt::print("\n");
}

/// A hundredth to a hundred times the clients that were asked for.
Result<void> plot(const Training& training, double chunk_epsilon, const std::string& file) {
  BoundsChart chart;
  chart.title = fmt::format("After a shuffler: epsilon {} a batch, delta {}",
                            short_number(chunk_epsilon), training.delta);
  if (const std::uint64_t batches =
          (training.weights + training.split - 1) / training.split * training.rounds;
      batches > 1) {
    chart.title = fmt::format("{} batches after a shuffler: epsilon {} each, delta {}",
                              with_commas(batches), short_number(chunk_epsilon), training.delta);
  }
  chart.x_label = "clients";
  chart.low = std::max<std::uint64_t>(2, training.clients / 100);
  chart.high = std::min<std::uint64_t>(static_cast<std::uint64_t>(kMostOfAny),
                                       std::max<std::uint64_t>(10, training.clients * 100));
  chart.answer = [&](std::uint64_t clients) {
    Training other = training;
    other.clients = clients;
    return answer(other);
  };
  return write_chart(chart, file);
}

Result<int> shuffle(const Arguments& arguments) {
  SOTTO_TRY(const Training training, training_of(arguments));
  SOTTO_TRY(const Background chunk, chunk_of(training, training.split));
  SOTTO_TRY(const std::vector<Bound> bounds, answer(training));
  if (!arguments.plot.empty()) SOTTO_CHECK(plot(training, chunk.epsilon, arguments.plot));
  if (arguments.json) {
    nlohmann::ordered_json json = bounds_json(to_json(arguments, training, chunk.epsilon), bounds);
    if (!arguments.plot.empty()) json["plot"] = arguments.plot;
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  print_question(arguments, training, chunk.epsilon);
  print_bounds(bounds);
  if (!arguments.plot.empty()) fmt::print("\nplot: {}\n", arguments.plot);
  return 0;
}

}  // namespace

void add_account_shuffle(CLI::App& account, Action& action) {
  CLI::App& command =
      *account.add_subcommand("shuffle", "what is left of a client's epsilon after a shuffler");
  auto arguments = std::make_shared<Arguments>();
  add_delta(command, arguments->delta);
  add_report_options(command, arguments->report);
  add_clients(command, arguments->clients)->required();
  add_number(command,
             {.name = "count",
              .low = 1,
              .high = kMostOfAny,
              .integer = true,
              .meaning = "batches with a report of the client, in every round; default 1"},
             arguments->count);
  add_rounds(command, arguments->rounds);
  add_sampling(command, arguments->sampling);
  command.add_option("--plot", arguments->plot, "draws epsilon against the number of clients")
      ->type_name("FILE.svg");
  command.add_flag("--json", arguments->json, "print JSON; null stands for no valid epsilon");
  command.footer(
      "The adversary sees batches in an order that tells nothing, and knows the data of all other\n"
      "clients. A bound outside its validity is refused, with the reason. Every epsilon is "
      "rounded\n"
      "up. Above 50 it is called vacuous: e^50 protects nobody.\n\n"
      "Examples:\n"
      "  sotto account shuffle --epsilon0 1 --clients 432 --delta 1e-6\n"
      "  sotto account shuffle --epsilon0 1 --weights 20490 --split 1 --clients 100\n"
      "  sotto account shuffle --epsilon0 0.1 --clients 60000 --rounds 100 --plot shuffle.svg\n"
      "  sotto account shuffle --mechanism privunit --epsilon 3 --dimension 8340 \\\n"
      "    --clients 60000 --rounds 100 --json | jq .best_epsilon");
  command.callback([&action, arguments] { action = [arguments] { return shuffle(*arguments); }; });
}

}  // namespace sotto::cli
