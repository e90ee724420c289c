// `sotto account compose`: what many releases of one client cost together, by every theorem.
// The theorems are those of account/mixed.h.
#include <fmt/format.h>

#include <cmath>

#include "account/mixed.h"
#include "account_bounds.h"
#include "account_commands.h"
#include "mechanism_options.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::optional<double> epsilon0;
  std::optional<double> count;
  std::vector<std::string> releases;
  std::vector<std::string> gaussians;
  std::optional<double> rounds;
  std::optional<double> delta;
  std::string plot;
  bool json = false;
};

struct Question {
  Mixture mixture;
  std::uint64_t rounds = 1;
  double delta = kDefaultDelta;
};

/// "0.5" or "0.5x1000".
Result<Releases> parse_kind(std::string_view option, const std::string& text) {
  const std::size_t times = text.find('x');
  const std::string_view size = std::string_view(text).substr(0, times);
  const std::string_view count =
      times == std::string::npos ? "1" : std::string_view(text).substr(times + 1);
  const double number = parse_number(size).value_or(std::nan(""));
  const double many = parse_number(count).value_or(std::nan(""));
  const ParameterInfo valid_size{.high = 1000, .low_open = true};
  const ParameterInfo valid_count{.low = 1, .high = kMostOfAny, .integer = true};
  if (valid_size.accepts(number) && valid_count.accepts(many)) {
    return Releases{number, static_cast<std::uint64_t>(many)};
  }
  return fail(ErrorKind::kUsage,
              fmt::format("{} '{}': must be {}, or that with x and {} behind it, such as 0.5x1000",
                          option, text, valid_size.valid(), valid_count.valid()));
}

Result<Question> question_of(const Arguments& arguments) {
  Question question;
  question.rounds = whole(arguments.rounds);
  question.delta = arguments.delta.value_or(kDefaultDelta);
  if (arguments.epsilon0)
    question.mixture.pure.push_back({*arguments.epsilon0, whole(arguments.count)});
  if (arguments.count && !arguments.epsilon0) {
    return fail(ErrorKind::kUsage,
                "--count needs --epsilon0; the others take it behind an x, such as 0.5x1000");
  }
  for (const std::string& text : arguments.releases) {
    SOTTO_TRY(const Releases kind, parse_kind("--release", text));
    question.mixture.pure.push_back(kind);
  }
  for (const std::string& text : arguments.gaussians) {
    SOTTO_TRY(const Releases kind, parse_kind("--gaussian", text));
    question.mixture.gaussian.push_back(kind);
  }
  if (question.mixture.pure.empty() && question.mixture.gaussian.empty()) {
    return fail(ErrorKind::kUsage,
                "nothing is released: give --epsilon0 E --count N, --release E[xN] or "
                "--gaussian RATIO[xN]");
  }
  for (std::vector<Releases>* const kinds : {&question.mixture.pure, &question.mixture.gaussian}) {
    for (Releases& kind : *kinds) {
      SOTTO_TRY(kind.count, product(kind.count, question.rounds, "rounds"));
    }
  }
  return question;
}

nlohmann::ordered_json to_json(const Question& question) {
  const auto list = [](const std::vector<Releases>& kinds, const char* name) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Releases& kind : kinds) json.push_back({{name, kind.size}, {"count", kind.count}});
    return json;
  };
  return {{"kind", "composition"},
          {"releases", list(question.mixture.pure, "epsilon")},
          {"gaussians", list(question.mixture.gaussian, "ratio")},
          {"rounds", question.rounds},
          {"delta", question.delta}};
}

std::string in_words(const Question& question) {
  std::vector<std::string> parts;
  for (const Releases& kind : question.mixture.pure) {
    parts.push_back(fmt::format("{} with epsilon {}", with_commas(kind.count), kind.size));
  }
  for (const Releases& kind : question.mixture.gaussian) {
    parts.push_back(
        fmt::format("{} of Gaussian noise with ratio {}", with_commas(kind.count), kind.size));
  }
  return fmt::format("Releases of one client: {}; delta {}", fmt::join(parts, ", "),
                     question.delta);
}

std::string chart_title(const Question& question) {
  const auto& [pure, gaussian] = question.mixture;
  if (pure.size() + gaussian.size() > 1) {
    return fmt::format("Epsilon of mixed releases, in proportion, delta {}", question.delta);
  }
  return pure.empty() ? fmt::format("Composition of Gaussian noise, ratio {}, delta {}",
                                    gaussian[0].size, question.delta)
                      : fmt::format("Composition of releases with epsilon {}, delta {}",
                                    pure[0].size, question.delta);
}

/// From one composition to ten times what was asked; kinds stay in proportion.
Result<void> plot(const Question& question, const std::string& file) {
  const auto every_kind = [](Mixture& mixture, const auto& change) {
    for (Releases& kind : mixture.pure) change(kind);
    for (Releases& kind : mixture.gaussian) change(kind);
  };
  Mixture most_of = question.mixture;
  std::uint64_t most = 1;
  every_kind(most_of, [&](const Releases& kind) { most = std::max(most, kind.count); });
  BoundsChart chart;
  chart.title = chart_title(question);
  chart.x_label = "compositions";
  chart.high = most * 10;
  chart.answer = [&](std::uint64_t count) -> Result<std::vector<Bound>> {
    Mixture scaled = question.mixture;
    const double factor = static_cast<double>(count) / static_cast<double>(most);
    every_kind(scaled, [&](Releases& kind) {
      kind.count = static_cast<std::uint64_t>(
          std::max(1.0, std::round(static_cast<double>(kind.count) * factor)));
    });
    return mixed_bounds(scaled, question.delta);
  };
  return write_chart(chart, file);
}

Result<int> compose(const Arguments& arguments) {
  SOTTO_TRY(const Question question, question_of(arguments));
  if (!arguments.plot.empty()) SOTTO_CHECK(plot(question, arguments.plot));
  const std::vector<Bound> bounds = mixed_bounds(question.mixture, question.delta);
  if (arguments.json) {
    nlohmann::ordered_json json = bounds_json(to_json(question), bounds);
    if (!arguments.plot.empty()) json["plot"] = arguments.plot;
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{}\n\n", in_words(question));
  print_bounds(bounds);
  if (!arguments.plot.empty()) fmt::print("\nplot: {}\n", arguments.plot);
  return 0;
}

}  // namespace

void add_account_compose(CLI::App& account, Action& action) {
  CLI::App& command =
      *account.add_subcommand("compose", "what many releases of one client cost together");
  auto arguments = std::make_shared<Arguments>();
  add_number(command,
             {.name = "epsilon0", .high = 1000, .low_open = true, .meaning = "of one release"},
             arguments->epsilon0);
  add_number(command,
             {.name = "count",
              .low = 1,
              .high = kMostOfAny,
              .integer = true,
              .meaning = "releases of epsilon0, in every round; default 1"},
             arguments->count);
  command
      .add_option("--release", arguments->releases,
                  "N releases of epsilon E; may be given several times")
      ->allow_extra_args(false)
      ->type_name("E[xN]");
  command
      .add_option("--gaussian", arguments->gaussians,
                  "N times Gaussian noise, RATIO = sensitivity / deviation; may be given several "
                  "times")
      ->allow_extra_args(false)
      ->type_name("RATIO[xN]");
  add_rounds(command, arguments->rounds);
  add_delta(command, arguments->delta);
  command.add_option("--plot", arguments->plot, "draws epsilon against the number of compositions")
      ->type_name("FILE.svg");
  command.add_flag("--json", arguments->json, "print JSON; null stands for no valid epsilon");
  command.footer(
      "Every epsilon is rounded up. Above 50 it is called vacuous: e^50 protects nobody.\n\n"
      "Examples:\n"
      "  sotto account compose --epsilon0 1 --count 20490 --delta 1e-6\n"
      "  sotto account compose --epsilon0 0.1 --count 100 --rounds 10 --json | jq .best_epsilon\n"
      "  sotto account compose --release 0.5x100 --release 2 --gaussian 0.1x1000\n"
      "  sotto account compose --epsilon0 0.1 --count 1000 --plot composition.svg");
  command.callback([&action, arguments] { action = [arguments] { return compose(*arguments); }; });
}

}  // namespace sotto::cli
