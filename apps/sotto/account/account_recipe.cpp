// sotto account RECIPE.toml: what the recipe promises its clients, before anything is trained.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "account_commands.h"
#include "base/file.h"
#include "base/nearest.h"
#include "claims_shown.h"
#include "plan/feature_statistics.h"
#include "report/chart.h"
#include "report/markup.h"
#include "sent_shown.h"
#include "sotto/federation.h"
#include "terminal.h"
#include "torch_trainer.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> settings;
  std::string data;
  std::string plot;
  bool json = false;
};

/// About sixteen numbers of rounds, each a good third more than the one before.
std::vector<std::uint64_t> some_rounds(std::uint64_t most) {
  constexpr double kPoints = 16.0;
  const double growth = std::pow(static_cast<double>(most), 1.0 / kPoints);
  std::vector<std::uint64_t> rounds;
  double next = 1.0;
  while (rounds.empty() || rounds.back() < most) {
    const auto whole = std::min(most, static_cast<std::uint64_t>(std::llround(next)));
    if (rounds.empty() || whole > rounds.back()) rounds.push_back(whole);
    next = std::max(next * growth, next + 0.5);
  }
  return rounds;
}

/// What a client has been exposed to when it has taken part in so many rounds, turn after turn, in
/// the smallest batches first.
Exposure first_rounds(Exposure exposure, std::uint64_t rounds) {
  for (Turn& turn : exposure.turns) {
    turn.rounds = std::min(turn.rounds, rounds);
    rounds -= turn.rounds;
    turn.held = std::min(turn.held, turn.rounds);
    std::uint64_t left = turn.rounds;
    for (auto& [size, count] : turn.batches) {
      count = std::min(count, left);
      left -= count;
    }
  }
  return exposure;
}

Result<void> write_plot(const Exposure& planned, const std::string& file) {
  LineChart chart;
  chart.title = "Epsilon of a client by rounds that it takes part in";
  chart.x_label = "rounds";
  chart.y_label = "epsilon, whole training";
  chart.x_log = true;
  chart.y_log = true;
  std::map<std::string, std::size_t> places;
  for (const std::uint64_t rounds : some_rounds(planned.rounds())) {
    const Exposure exposure = first_rounds(planned, rounds);
    for (const Claim& claim : claims_of(exposure)) {
      if (!promises_client(claim)) continue;
      const std::string at_delta = " at delta " + number_up(exposure.delta);
      const std::string name = claim.scope.view == View::kShuffler ? "after the shuffler" + at_delta
                               : claim.delta == exposure.delta     ? "composed" + at_delta
                                                                   : "summed";
      if (!std::isfinite(claim.epsilon)) continue;
      const auto [place, fresh] = places.try_emplace(name, chart.series.size());
      if (fresh) chart.series.push_back({name, {}});
      chart.series[place->second].points.emplace_back(static_cast<double>(rounds), claim.epsilon);
    }
  }
  return write_file_atomically(file, to_svg(chart));
}

/// Weights that a client sends over all turns of the schedule, each layer once; statistics of
/// features are none.
std::uint64_t weights_of(const Exposure& exposure) {
  std::uint64_t weights = 0;
  for (const Turn& turn : exposure.turns) {
    for (const auto& mechanism : turn.variants.front()) {
      if (!holds_statistics(mechanism->domain())) weights += mechanism->outputs();
    }
  }
  return weights;
}

/// What the same training promises where every batch is as small as clients accept. Nothing where
/// batches are no larger, or where nobody can see who is picked.
std::optional<Claim> at_minimum(const Recipe& recipe, Exposure exposure) {
  const auto minimum = static_cast<std::uint64_t>(recipe.shuffle.min_batch);
  const auto batches = exposure.batches();
  if (exposure.shuffle != ShuffleMode::kShuffler || exposure.hidden() || batches.empty() ||
      batches.rbegin()->first <= minimum) {
    return std::nullopt;
  }
  for (Turn& turn : exposure.turns) {
    std::map<std::uint64_t, std::uint64_t> smallest;
    for (const auto& [size, count] : turn.batches) smallest[std::min(size, minimum)] += count;
    turn.batches = std::move(smallest);
  }
  const std::vector<Claim> claims = claims_of(exposure);
  const Claim* const claim = client_claim(claims);
  return claim == nullptr ? std::nullopt : std::optional(*claim);
}

std::string minimum_text(const Recipe& recipe, const Exposure& exposure) {
  const auto claim = at_minimum(recipe, exposure);
  if (!claim) return "";
  std::string text = fmt::format(
      "A server may close batches early. Clients accept shuffle.min_batch = {}; in batches of that "
      "size it is epsilon {}",
      with_commas(static_cast<std::uint64_t>(recipe.shuffle.min_batch)), number_up(claim->epsilon));
  if (claim->vacuous()) text += " (vacuous)";
  if (claim->delta > 0.0) text += " at delta " + number_up(claim->delta);
  return wrapped(text + '.');
}

/// null, or the claim with the batch that it is of.
nlohmann::json minimum_json(const Recipe& recipe, const Exposure& exposure) {
  const auto claim = at_minimum(recipe, exposure);
  if (!claim) return nullptr;
  nlohmann::json json = to_json(*claim);
  json["min_batch"] = recipe.shuffle.min_batch;
  return json;
}

void print_plan(const Recipe& recipe, const PrivacyPlan& plan) {
  const Exposure& exposure = plan.groups.front().exposure;
  std::string shuffler = "no shuffler";
  if (exposure.shuffle == ShuffleMode::kLatency) shuffler = "random delays, no shuffler";
  if (exposure.shuffle == ShuffleMode::kShuffler) {
    shuffler = exposure.split == 0
                   ? "a shuffler of whole reports"
                   : fmt::format("a shuffler of {} weight{} at a time", with_commas(exposure.split),
                                 exposure.split == 1 ? "" : "s");
  }
  if (recipe.encode.on()) {
    fmt::print("{}: records as {} bits under {}, randomized once\n", recipe.output.name,
               with_commas(plan.records->bits->outputs()), recipe.encode.mechanism);
  }
  const auto messages = static_cast<std::uint64_t>(recipe.privacy.messages);
  const std::string weights = with_commas(weights_of(exposure) / messages) + " weights";
  fmt::print("{}: mechanism {}, {}, {} of {} clients a round, {} rounds, {}\n\n",
             recipe.output.name, recipe.privacy.mechanism,
             messages == 1 ? weights : counted(messages, "message") + " of " + weights,
             with_commas(plan.clients_per_round), with_commas(plan.clients),
             with_commas(static_cast<std::uint64_t>(recipe.federation.rounds)), shuffler);
  for (const GroupClaims& group : plan.groups) {
    if (plan.groups.size() > 1) {
      fmt::print("{} {}:\n", with_commas(group.clients), group.name);
    }
    const std::string sent = sent_table(group.exposure, plan.clients_per_round);
    if (!sent.empty()) fmt::print("{}\n", sent);
    fmt::print("{}\n{}{}{}", claims_table(group.claims), promise(group.claims),
               minimum_text(recipe, group.exposure), record_promise(group.claims));
    if (&group != &plan.groups.back()) fmt::print("\n");
  }
  if (plan.groups.size() > 1) {
    fmt::print("\nPromised least: {}.\n", worst_group(plan.groups).name);
  }
}

Result<int> account_recipe(const Arguments& arguments, const std::vector<std::string>& commands) {
  if (arguments.recipe.empty()) {
    return fail(
        ErrorKind::kUsage,
        "account: a recipe or a question is needed: sotto account RECIPE.toml, or one of: " +
            join(commands));
  }
  auto recipe = load_recipe(arguments.recipe, arguments.settings);
  if (!recipe && recipe.error().kind == ErrorKind::kNotFound) {
    // A misspelt question looks like the name of a recipe.
    return fail(ErrorKind::kNotFound,
                recipe.error().message + did_you_mean(arguments.recipe, commands));
  }
  if (!recipe) return tl::unexpected(recipe.error());
  SOTTO_TRY(const PrivacyPlan plan, plan_privacy(*recipe, arguments.data, torch_trainer()));
  const Exposure& worst = worst_group(plan.groups).exposure;
  if (!arguments.plot.empty()) SOTTO_CHECK(write_plot(worst, arguments.plot));
  if (arguments.json) {
    nlohmann::json json = privacy_record(plan.groups, true);
    json["recipe"] = recipe->to_json();
    json["recipe_file"] = recipe->file;
    json["weights"] = weights_of(worst);
    json["sent"] = sent_json(worst, plan.clients_per_round);
    json["at_min_batch"] = minimum_json(*recipe, worst);
    json["clients"] = plan.clients;
    json["clients_per_round"] = plan.clients_per_round;
    if (!arguments.plot.empty()) json["plot"] = arguments.plot;
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  print_plan(*recipe, plan);
  if (!arguments.plot.empty()) fmt::print("plot: {}\n", arguments.plot);
  return 0;
}

}  // namespace

void add_account_recipe(CLI::App& account, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  account.add_option("recipe", arguments->recipe, "recipe file (TOML)")->type_name("RECIPE.toml");
  account
      .add_option("--set", arguments->settings,
                  "override a key: --set federation.rounds=100 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  account
      .add_option("--data", arguments->data, "folder with data sets, for sets that must be read")
      ->type_name("DIR");
  account.add_option("--plot", arguments->plot, "draw epsilon against rounds")
      ->type_name("FILE.svg");
  account.add_flag("--json", arguments->json, "print the plan as JSON (claims, batches, rounds)");
  account.callback([&account, &action, arguments] {
    if (!account.get_subcommands().empty()) return;
    std::vector<std::string> commands;
    for (const CLI::App* command : account.get_subcommands([](CLI::App*) { return true; })) {
      commands.push_back(command->get_name());
    }
    action = [arguments, commands] { return account_recipe(*arguments, commands); };
  });
}

}  // namespace sotto::cli
