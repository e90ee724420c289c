// A ledger in memory, with the plainest filter: sums. It outlives the run that uses it, as a file
// would, so that tests can stop a run, resume it and look at what was charged.
#pragma once

#include <map>
#include <tuple>

#include "sotto/ledger.h"

namespace sotto {

class FakeLedger final : public Ledger {
 public:
  struct Account {
    Limits limits;
    double epsilon = 0.0;
    std::uint64_t rounds = 0;
  };
  struct Entry {
    std::string client;
    Charge charge;
  };
  std::map<std::pair<std::string, std::string>, Account> accounts;
  std::map<std::tuple<std::string, std::string, RoundId>, std::uint64_t> by_round;
  std::vector<Entry> entries;
  /// Called before a round is charged: what the clients have done by then.
  std::function<void()> on_charge;
  int transactions = 0;
  int bindings = 0;

  Result<void> set_limits(const std::string& client, const std::string& dataset,
                          const Limits& limits) override {
    accounts[{client, dataset}].limits = limits;
    return {};
  }
  Result<Spent> spent(const std::string& client, const std::string& dataset) const override {
    const auto it = accounts.find({client, dataset});
    if (it == accounts.end()) return fail(ErrorKind::kNotFound, client + ": no account");
    Spent spent;
    spent.limits = it->second.limits;
    spent.epsilon_sum = it->second.epsilon;
    spent.rounds = it->second.rounds;
    return spent;
  }
  Result<std::vector<Result<Charge>>> charge_all(std::span<const ChargeRequest> requests) override {
    if (on_charge) on_charge();
    ++transactions;
    std::vector<Result<Charge>> answers;
    for (const ChargeRequest& request : requests) answers.push_back(charge_one(request));
    return answers;
  }
  Result<void> bind(const Charge& /*charge*/, std::span<const std::byte> /*report*/) override {
    return fail(ErrorKind::kInternal, "a simulation binds hashes");
  }
  Result<void> bind_hashes(std::span<const BoundHash> reports) override {
    ++bindings;
    for (const BoundHash& report : reports) {
      Charge& charge = entries.at(report.charge).charge;
      if (!charge.report_hash.empty() && charge.report_hash != report.hash) {
        return fail(ErrorKind::kRefused, "another report is bound to this charge");
      }
      charge.report_hash = report.hash;
      charge.state = ChargeState::kBound;
    }
    return {};
  }
  Result<std::vector<std::byte>> report(const Charge& /*charge*/) const override {
    return fail(ErrorKind::kNotFound, "only hashes are kept");
  }
  Result<void> delivered(const Charge& /*charge*/) override { return {}; }
  Result<LedgerHead> head() const override { return LedgerHead{entries.size(), "fake"}; }

 private:
  Result<Charge> charge_one(const ChargeRequest& request) {
    const std::tuple key(request.client, request.task, request.round);
    if (const auto it = by_round.find(key); it != by_round.end()) return entries[it->second].charge;
    Account& account = accounts.at({request.client, request.dataset});
    const Limits& limits = account.limits;
    if (request.cost.epsilon > limits.epsilon_per_round) {
      return fail(ErrorKind::kRefused, request.client + ": more than it spends in a round");
    }
    if (account.epsilon + request.cost.epsilon > limits.epsilon) {
      return fail(ErrorKind::kRefused, request.client + ": more than its lifetime epsilon");
    }
    if (account.rounds + 1 > limits.rounds) {
      return fail(ErrorKind::kRefused, request.client + ": no round left");
    }
    account.epsilon += request.cost.epsilon;
    ++account.rounds;
    Charge charge{entries.size(), request.round, request.mechanism_id, ChargeState::kCharged, ""};
    by_round[key] = charge.id;
    entries.push_back({request.client, charge});
    return charge;
  }
};

}  // namespace sotto
