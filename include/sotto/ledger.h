// The ledger: what a client has spent, and the refusal to spend more.
//
// A client charges a round before it reads its data, binds the report that it drew to the charge
// before it sends it, and notes the delivery. A round that is tried again finds its charge: it is
// not charged twice, and once a report is bound, that very report is sent again and no other. All
// of it is durable before the next step begins, so a client that dies at any moment never leaves a
// sent report uncharged. Every entry carries the hash of the one before it.
//
// A real client's limits hold for its whole ledger file, whatever server, task or data set its
// charges name. Another account exists only by its owner's word, declare_account(). A simulation
// keeps one account for each of its clients in one file.
//
// Spent is a filter: it stays valid when the server chooses mechanisms after seeing earlier
// reports. Two are kept, and a charge that either one allows is allowed (a path that ends under the
// first has loss at most epsilon; those that end under the second are paths of the second alone):
//   the sum of epsilons, and the sum of deltas (basic composition);
//   the sum of Rényi divergences at one order, fixed by the limits alone (Feldman, Zrnic 2021).
// The second needs all of the limit's delta for itself, so it serves accounts whose reports have no
// delta of their own, and such an account takes no report that has one (docs/research/proofs.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/mechanism.h"
#include "sotto/stages.h"

namespace sotto {

/// What a client allows. Nothing is allowed beyond; an account without limits allows nothing.
struct Limits {
  double epsilon_per_round = 0.0;
  double epsilon = 0.0;  // lifetime, over all tasks
  double delta = 0.0;    // lifetime
  std::uint64_t rounds = std::numeric_limits<std::uint64_t>::max();

  /// Whatever is asked for, for simulations that only want to know what it costs.
  static Limits unlimited();
  /// The order of the Rényi filter that these limits fix; 0 where there is none (no delta, or no
  /// finite epsilon).
  double renyi_order() const;
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// What one report costs, from a mechanism's guarantee.
struct Cost {
  double epsilon = std::numeric_limits<double>::infinity();
  double delta = 0.0;
  /// The report is `units` independent releases of unit_epsilon each (delta aside).
  double unit_epsilon = std::numeric_limits<double>::infinity();
  std::uint64_t units = 1;

  static Cost of(const Guarantee& guarantee);
};

struct ChargeRequest {
  std::string client;   // identity
  std::string dataset;  // what the client's data is called or hashes to
  std::string task;     // the training this round belongs to; a round is charged once for a task
  RoundId round = 0;
  std::string mechanism_id;
  Cost cost;
};

enum class ChargeState {
  kCharged,    // paid for; no report yet
  kBound,      // a report exists and may have been sent
  kDelivered,  // the receiver has confirmed it
};

struct Charge {
  std::uint64_t id = 0;  // the number of its entry
  RoundId round = 0;
  std::string mechanism_id;
  ChargeState state = ChargeState::kCharged;
  std::string report_hash;  // SHA-256 in hex; empty until bound
};

struct Spent {
  Limits limits;
  std::uint64_t rounds = 0;
  double epsilon_sum = 0.0;
  double delta_sum = 0.0;
  double renyi_sum = 0.0;
  /// The smaller epsilon of both filters at limits.delta, rounded up.
  double epsilon = 0.0;
};

/// Where a chain of entries ends: enough to notice later that entries were lost.
struct LedgerHead {
  std::uint64_t entries = 0;
  std::string hash;
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  /// Sets what the client allows from now on; opens the account if there is none.
  virtual Result<void> set_limits(const std::string& client, const std::string& dataset,
                                  const Limits& limits) = 0;
  /// Many at once, in one transaction where the ledger has such.
  struct AccountLimits {
    std::string client;
    std::string dataset;
    Limits limits;
  };
  virtual Result<void> set_limits_all(std::span<const AccountLimits> accounts);
  virtual Result<Spent> spent(const std::string& client, const std::string& dataset) const = 0;
  /// Whether there is an account to ask: unlike a refusal of spent(), which looks for similar
  /// names, the answer takes no longer in a ledger of a million accounts.
  virtual Result<bool> has_account(const std::string& client, const std::string& dataset) const {
    const Result<Spent> found = spent(client, dataset);
    if (!found && found.error().kind != ErrorKind::kNotFound) return tl::unexpected(found.error());
    return found.has_value();
  }

  /// Charges the request, or finds the charge that the same round has already: kRefused, with the
  /// reason, when the account does not allow it, or when the round was charged for another
  /// mechanism. Durable when it returns.
  Result<Charge> charge(const ChargeRequest& request);
  /// Many at once, in one transaction: an answer for each.
  virtual Result<std::vector<Result<Charge>>> charge_all(
      std::span<const ChargeRequest> requests) = 0;

  /// Binds a report's bytes to its charge and keeps them for sending again. Where another report is
  /// bound already, it is refused.
  virtual Result<void> bind(const Charge& charge, std::span<const std::byte> report) = 0;
  /// The same with hashes alone, for whoever can make the same report again.
  struct BoundHash {
    std::uint64_t charge = 0;
    std::string hash;
  };
  virtual Result<void> bind_hashes(std::span<const BoundHash> reports) = 0;
  /// The bytes that were bound: what has to be sent again. Bytes of a delivered report are kept
  /// until the account's next report is bound.
  virtual Result<std::vector<std::byte>> report(const Charge& charge) const = 0;
  virtual Result<void> delivered(const Charge& charge) = 0;

  virtual Result<LedgerHead> head() const = 0;
};

/// Opens the ledger, or makes it. Refuses a file that is damaged, tampered with, truncated or older
/// than what its own head file remembers.
///
/// Names of clients and data sets tell accounts apart, so this is for simulations and for programs
/// that choose both names themselves. Limits of the whole file, where there are any, hold as well.
Result<std::unique_ptr<Ledger>> open_ledger(const std::filesystem::path& file);

struct OwnLedgerOptions {
  /// Of the accounts that the owner has declared; empty: the whole file.
  std::string account;
  /// A second head file, kept elsewhere (with the client's identity): another ledger than the one
  /// it remembers is refused, and an older copy whose own head file is as old. Empty: none.
  std::filesystem::path witness;
};
/// The same ledger for its owner, who is one client: limits are those of the whole file or of a
/// declared account, `dataset` of every call is ignored, and a round that the client was charged
/// for under any account is found.
Result<std::unique_ptr<Ledger>> open_own_ledger(const std::filesystem::path& file,
                                                const OwnLedgerOptions& options = {});
/// The owner's word that there is an account apart, whose charges do not count for the whole file.
Result<void> declare_account(const std::filesystem::path& file, const std::string& name);

/// What the file holds, for people and tools; the file is not changed.
struct LedgerReport {
  struct Account {
    std::string client;
    std::string dataset;
    Spent spent;
  };
  std::vector<Account> accounts;
  /// What the owner's limits count: the whole file, and each declared account.
  struct Own {
    std::string name;  // empty: the whole file
    Spent spent;
    bool limited = false;  // whether limits were set
  };
  Own whole;
  std::vector<Own> declared;
  LedgerHead head;
};
Result<LedgerReport> read_ledger(const std::filesystem::path& file);
/// Checks every entry, hash and sum anew. With `anchor`: also that the ledger once ended there.
Result<LedgerReport> verify_ledger(const std::filesystem::path& file,
                                   const std::optional<LedgerHead>& anchor = std::nullopt);
/// One JSON object a line, entry by entry, hashes included.
Result<void> export_ledger(const std::filesystem::path& file, std::string& lines);

}  // namespace sotto
