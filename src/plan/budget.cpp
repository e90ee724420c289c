#include "plan/budget.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/exact/exact.h"
#include "base/sha256.h"

namespace sotto {
namespace {

/// Client i's entry of a list that clients take turns with.
const double& entry(const std::vector<double>& values, std::uint32_t client) {
  return values[client % values.size()];
}

}  // namespace

std::string client_name(std::uint32_t client) {
  char text[32];
  std::snprintf(text, sizeof text, "client-%05u", client);
  return text;
}

std::string dataset_name(const Recipe& recipe) {
  const Recipe::Data& data = recipe.data;
  const nlohmann::json decides = {data.name,
                                  data.labels,
                                  data.test,
                                  data.test_fraction,
                                  data.partition,
                                  recipe.federation.clients,
                                  recipe.federation.seed};
  // The set's name, or a path's last part as far as it fits: the digest tells them apart.
  constexpr std::size_t kLongestName = 60;
  std::string name = std::filesystem::path(data.name).filename().string();
  std::ranges::replace_if(
      name, [](unsigned char c) { return c <= ' ' || c > '~'; }, '_');
  return name.substr(0, kLongestName) + ':' +
         sha256_hex(decides.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
             .substr(0, 16);
}

Limits limits_of(const Recipe& recipe, std::uint32_t client) {
  const Recipe::LedgerKeys& keys = recipe.ledger;
  Limits limits = Limits::unlimited();
  if (!keys.epsilon_per_round.empty()) {
    limits.epsilon_per_round = entry(keys.epsilon_per_round, client);
  }
  if (!keys.epsilon.empty()) {
    limits.epsilon = entry(keys.epsilon, client);
    limits.delta = recipe.account.delta;  // an epsilon without a delta would mean little
  }
  if (!keys.delta.empty()) limits.delta = entry(keys.delta, client);
  if (!keys.rounds.empty()) {
    limits.rounds = static_cast<std::uint64_t>(entry(keys.rounds, client));
  }
  return limits;
}

RoundCharge charge_of(std::span<const Part> parts) {
  RoundCharge all;
  if (parts.size() == 1) {
    const Mechanism& mechanism = *parts.front().mechanism;
    return {std::string(mechanism.id()), Cost::of(mechanism.guarantee())};
  }
  all.cost = {0.0, 0.0, 0.0, 0};
  std::string ids;
  for (const Part& part : parts) {
    const Cost cost = Cost::of(part.mechanism->guarantee());
    all.cost.epsilon = exact::add_up(all.cost.epsilon, cost.epsilon);
    all.cost.delta = std::min(1.0, exact::add_up(all.cost.delta, cost.delta));
    // Every release counts as the costliest of them: what composes as more is safe.
    all.cost.unit_epsilon = std::max(all.cost.unit_epsilon, cost.unit_epsilon);
    all.cost.units += cost.units;
    ids += std::string(part.mechanism->id()) + '\n';
  }
  all.mechanism_id = "parts.v1:" + sha256_hex(ids).substr(0, 16);
  return all;
}

Budget::Budget(std::shared_ptr<Ledger> ledger, const Recipe& recipe)
    : ledger_(std::move(ledger)),
      recipe_(recipe),
      dataset_(dataset_name(recipe)),
      task_(recipe.fingerprint()) {}

Result<void> Budget::open_accounts(std::span<const std::uint32_t> clients) {
  std::vector<Ledger::AccountLimits> accounts;
  for (const std::uint32_t client : clients) {
    if (open_.contains(client)) continue;
    std::string name = client_name(client);
    // A recipe without limits leaves those that a client of an older ledger has set.
    bool asks = recipe_.ledger.limits();
    if (!asks) {
      SOTTO_TRY(const bool known, ledger_->has_account(name, dataset_));
      asks = !known;
    }
    if (asks) accounts.push_back({std::move(name), dataset_, limits_of(recipe_, client)});
  }
  if (!accounts.empty()) SOTTO_CHECK(ledger_->set_limits_all(accounts));
  open_.insert(clients.begin(), clients.end());
  return {};
}

Result<Budget::Admission> Budget::admit(RoundId round, std::vector<ClientGroup>& groups) {
  Admission admission;
  if (!keeps()) return admission;
  std::vector<std::uint32_t> clients;
  std::vector<ChargeRequest> requests;
  for (const ClientGroup& group : groups) {
    const RoundCharge charge = charge_of(group.parts);
    for (const std::uint32_t client : group.clients) {
      clients.push_back(client);
      requests.push_back(
          {client_name(client), dataset_, task_, round, charge.mechanism_id, charge.cost});
    }
  }
  SOTTO_CHECK(open_accounts(clients));
  SOTTO_TRY(const auto answers, ledger_->charge_all(requests));
  charges_.clear();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Result<Charge>& answer = answers[i];
    if (answer) {
      admission.fresh += answer->report_hash.empty() ? 1 : 0;
      charges_[clients[i]] = answer->id;
      continue;
    }
    if (answer.error().kind != ErrorKind::kRefused) return tl::unexpected(answer.error());
    if (admission.refused.empty()) admission.reason = answer.error().message;
    admission.refused.push_back(clients[i]);
  }
  std::ranges::sort(admission.refused);
  for (ClientGroup& group : groups) {
    std::erase_if(group.clients, [&](std::uint32_t client) {
      return std::ranges::binary_search(admission.refused, client);
    });
  }
  return admission;
}

Result<void> Budget::bind(std::span<const ReportHash> reports) {
  if (!keeps()) return {};
  std::vector<Ledger::BoundHash> bound;
  for (const ReportHash& report : reports) {
    const auto charge = charges_.find(report.client);
    if (charge == charges_.end()) {
      return fail(ErrorKind::kInternal, client_name(report.client) + ": a report without a charge");
    }
    bound.push_back({charge->second, report.hash});
  }
  return ledger_->bind_hashes(bound);
}

Result<std::optional<LedgerHead>> Budget::head() const {
  if (!keeps()) return std::optional<LedgerHead>();
  SOTTO_TRY(LedgerHead head, ledger_->head());
  return std::optional<LedgerHead>(std::move(head));
}

}  // namespace sotto
