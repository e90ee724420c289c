#include "server/exposure_log.h"

#include <algorithm>

#include "base/text.h"
#include "plan/round_plan.h"
#include "plan/selection.h"

namespace sotto {
namespace {

std::string group_name(const Recipe& recipe, const Planner& planner, std::size_t group) {
  const std::optional<double> budget = planner.budget_of(group);
  if (!budget) return "all clients";
  return "clients with budget " + short_number(*budget) +
         (recipe.schedule.total ? " in all" : " a weight");
}

/// Clients of each group, as they take turns with the budgets.
std::vector<std::uint64_t> group_sizes(const Planner& planner, std::size_t clients) {
  std::vector<std::uint64_t> sizes(planner.groups(), 0);
  for (std::size_t turn = 0; turn < std::min(planner.turns(), clients); ++turn) {
    sizes[planner.group_of(static_cast<std::uint32_t>(turn))] +=
        (clients - turn - 1) / planner.turns() + 1;
  }
  return sizes;
}

std::vector<std::shared_ptr<const Mechanism>> mechanisms_of(std::span<const Part> parts) {
  std::vector<std::shared_ptr<const Mechanism>> mechanisms;
  for (const Part& part : parts) mechanisms.push_back(part.mechanism);
  return mechanisms;
}

}  // namespace

Exposure recipe_exposure(const Recipe& recipe, std::uint64_t clients, double sampling) {
  Exposure exposure;
  exposure.shuffle = recipe.shuffle.mode;
  exposure.split = static_cast<std::uint64_t>(recipe.shuffle.split);
  exposure.delta = recipe.account.delta;
  exposure.honest = recipe.account.honest;
  if (is_anonymous(recipe.federation) && sampling < 1.0) {
    exposure.sampling = sampling;
    exposure.population = clients;
  }
  return exposure;
}

Result<std::vector<GroupClaims>> planned_exposures(const Recipe& recipe, const Planner& planner,
                                                   std::size_t clients, std::size_t per_round) {
  const std::vector<std::uint64_t> sizes = group_sizes(planner, clients);
  const double share = share_of_clients(clients, per_round);
  std::vector<GroupClaims> exposures;
  for (std::size_t group = 0; group < planner.groups(); ++group) {
    GroupClaims planned{group_name(recipe, planner, group),
                        sizes[group],
                        recipe_exposure(recipe, sizes[group], share),
                        {},
                        {}};
    const bool once = recipe.federation.selection == SelectionRule::kOnce;
    planned.exposure.every_round = per_round == clients || once;
    // Of a group, its share of those who are picked: what can be said before anyone is.
    const auto batch = per_round == clients
                           ? sizes[group]
                           : static_cast<std::uint64_t>(static_cast<double>(sizes[group]) * share);
    const Schedule& schedule = planner.schedule();
    for (std::size_t slot = 0; slot < schedule.slots().size(); ++slot) {
      SOTTO_TRY(const std::vector<Part> parts, planner.parts(schedule.first_round_of(slot), group));
      const std::uint64_t rounds = schedule.rounds_of(slot);
      Turn turn;
      turn.variants = {mechanisms_of(parts)};
      for (const Part& part : parts) planned.mechanisms.push_back(part.spec);
      turn.rounds = once ? 1 : rounds;
      if (const std::vector<double>& limits = recipe.ledger.rounds; !limits.empty()) {
        const double most = *std::ranges::max_element(limits);
        turn.rounds = std::min(turn.rounds, static_cast<std::uint64_t>(most));
      }
      turn.batches = {{std::max<std::uint64_t>(1, batch), rounds}};
      turn.held = rounds;
      planned.exposure.turns.push_back(std::move(turn));
    }
    exposures.push_back(std::move(planned));
  }
  return exposures;
}

ExposureLog::ExposureLog(const Planner& planner, std::size_t clients, bool hidden)
    : groups_(planner.groups()), hidden_(hidden) {
  const std::vector<std::uint64_t> sizes = group_sizes(planner, clients);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].clients = sizes[group];
  }
}

void ExposureLog::add(std::size_t slot, std::size_t group, const ClientGroup& sent,
                      std::uint64_t opened) {
  if (sent.clients.empty() && !hidden_) return;
  SlotLog& log = groups_[group].slots[slot];
  ++log.turn.held;
  std::string ids;
  for (const Part& part : sent.parts) ids += std::string(part.mechanism->id()) + '\n';
  if (std::ranges::find(log.variants, ids) == log.variants.end()) {
    log.variants.push_back(ids);
    log.turn.variants.push_back(mechanisms_of(sent.parts));
    for (const Part& part : sent.parts) {
      const std::string id(part.mechanism->id());
      if (!groups_[group].ids.insert(id).second) continue;
      groups_[group].mechanisms.push_back(part.spec);
    }
  }
  if (opened > 0) ++log.turn.batches[opened];
  for (const std::uint32_t client : sent.clients) ++log.rounds[client];
}

std::vector<GroupClaims> ExposureLog::exposures(const Recipe& recipe,
                                                const Planner& planner) const {
  std::uint64_t clients = 0;
  for (const GroupLog& group : groups_) clients += group.clients;
  const double share = share_of_clients(clients, clients_per_round(recipe.federation, clients));
  std::vector<GroupClaims> exposures;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    GroupClaims group{group_name(recipe, planner, g),
                      groups_[g].clients,
                      recipe_exposure(recipe, groups_[g].clients, share),
                      groups_[g].mechanisms,
                      {}};
    for (const auto& [slot, log] : groups_[g].slots) {
      Turn turn = log.turn;
      std::uint64_t least = group.clients == log.rounds.size() ? ~std::uint64_t{0} : 0;
      for (const auto& [client, rounds] : log.rounds) {
        turn.rounds = std::max(turn.rounds, rounds);
        least = std::min(least, rounds);
      }
      group.exposure.every_round &= least == turn.rounds;
      group.exposure.turns.push_back(std::move(turn));
    }
    exposures.push_back(std::move(group));
  }
  return exposures;
}

}  // namespace sotto
