// Who may take part in a round: every client pays before its data is read, and one that cannot pay
// is left out. Without a ledger everybody may, and nothing is remembered.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sotto/federation.h"
#include "sotto/ledger.h"
#include "sotto/recipe.h"

namespace sotto {

/// "client-00017": what a simulated client is called in the ledger.
std::string client_name(std::uint32_t client);

/// What the clients' data is called in the ledger: the set's name and a digest of all keys that
/// decide which samples a client holds.
std::string dataset_name(const Recipe& recipe);

/// What the recipe lets this client spend; unlimited where it says nothing.
Limits limits_of(const Recipe& recipe, std::uint32_t client);

struct ReportHash {
  std::uint32_t client = 0;
  std::string hash;  // SHA-256 over the client's envelopes, in hex
};

/// What a client pays for a round in which it sends a report for each part, and what the ledger
/// calls it: the mechanism's id, or a digest of several.
struct RoundCharge {
  std::string mechanism_id;
  Cost cost;
};
RoundCharge charge_of(std::span<const Part> parts);

class Budget {
 public:
  Budget() = default;
  Budget(std::shared_ptr<Ledger> ledger, const Recipe& recipe);

  bool keeps() const { return ledger_ != nullptr; }

  struct Admission {
    std::vector<std::uint32_t> refused;  // ascending
    std::string reason;                  // of the first refusal
    std::uint64_t fresh = 0;             // charges that have no report yet
  };
  /// Charges the round's clients for all their parts, or finds what they have paid already. Those
  /// that are refused are taken out of the groups.
  Result<Admission> admit(RoundId round, std::vector<ClientGroup>& groups);
  /// Ties the reports of the admitted clients to what they paid; refuses any other report for it.
  Result<void> bind(std::span<const ReportHash> reports);

  /// Accounts that this run has charged or asked.
  std::uint64_t accounts() const { return open_.size(); }
  /// Where the ledger ends now; nothing without one.
  Result<std::optional<LedgerHead>> head() const;

 private:
  /// Sets what the clients allow, once for each client in a run.
  Result<void> open_accounts(std::span<const std::uint32_t> clients);

  std::shared_ptr<Ledger> ledger_;
  Recipe recipe_;
  std::string dataset_;
  std::string task_;
  std::set<std::uint32_t> open_;
  std::map<std::uint32_t, std::uint64_t> charges_;  // of the round that was admitted last
};

}  // namespace sotto
