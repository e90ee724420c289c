// The state of a ledger in memory: what its entries, applied one after the other, add up to.
//
// The log is the only truth on disk. Whoever opens a ledger applies all of it, and before each step
// what other processes have appended since; so there are no sums on disk that could disagree with
// it. apply() refuses an entry that no ledger would have written.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "account/ledger/ledger_entry.h"
#include "account/ledger/ledger_spending.h"

namespace sotto {

class Book {
 public:
  struct Account {
    std::string client;
    std::string dataset;
    Spending spending;
    std::vector<std::uint64_t> settled;  // delivered charges whose bytes are still kept
  };
  /// A charge and what became of it.
  struct Item {
    std::uint64_t id = 0;
    std::uint32_t account = 0;
    std::uint32_t mechanism = 0;
    std::uint32_t group = 0;  // of equal costs in the account
    RoundId round = 0;
    ChargeState state = ChargeState::kCharged;
    std::array<char, 64> hash{};
  };

  /// How many entries were applied, and the hash of the last one.
  const LedgerHead& head() const noexcept { return head_; }
  /// Applies the next entry; `text` is the one that encodes it.
  Result<void> apply(const Entry& entry, std::string_view text);

  const std::vector<Account>& accounts() const noexcept { return accounts_; }
  const Account* find_account(const std::string& client, const std::string& dataset) const;
  bool has_charges() const noexcept { return !items_.empty(); }
  const Item* find_item(std::uint64_t id) const;
  /// The charge of a round, where it has one.
  const Item* find_round(const ChargeRequest& request) const;
  /// The same whatever the data set: of several, the one that came furthest, then the first.
  const Item* find_round_of_client(const ChargeRequest& request) const;

  /// Accounts of the owner: the whole file, "", and those that were declared.
  bool is_declared(const std::string& name) const { return declared_.contains(name); }
  const std::vector<std::string>& declared() const noexcept { return declared_names_; }
  /// Null where none were set.
  const Limits* limits_of_owner(const std::string& name) const;
  /// What counts towards them: charges of the declared account, or for the whole file all charges
  /// that are in no declared account.
  Spending spending_of_owner(const std::string& name) const;

  const Account& account_of(const Item& item) const { return accounts_[item.account]; }
  const Cost& cost_of(const Item& item) const { return account_of(item).spending.cost(item.group); }
  const std::string& mechanism_of(const Item& item) const { return mechanisms_[item.mechanism]; }
  Charge charge_of(const Item& item) const;
  static std::string_view hash_of(const Item& item);
  /// How many bytes each report has that must be kept, by charge.
  const std::map<std::uint64_t, std::uint64_t>& kept() const noexcept { return kept_; }

 private:
  /// Numbers for names, in the order of their first use.
  class Names {
   public:
    Names() = default;
    Names(Names&&) = default;
    Names& operator=(Names&&) = default;
    Names(const Names&) = delete;  // names_ points into numbers_
    Names& operator=(const Names&) = delete;
    ~Names() = default;
    std::uint32_t number(const std::string& name);
    const std::uint32_t* find(const std::string& name) const;
    const std::string& operator[](std::uint32_t number) const { return *names_[number]; }

   private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> names_;
  };
  struct RoundKey {
    std::uint32_t account = 0;
    std::uint32_t task = 0;
    RoundId round = 0;
    friend bool operator==(const RoundKey&, const RoundKey&) = default;
  };
  struct RoundKeyHash {
    std::size_t operator()(const RoundKey& key) const noexcept;
  };
  static std::string account_key(const std::string& client, const std::string& dataset) {
    return client + '\t' + dataset;  // names have no tabs
  }

  Item* mutable_item(std::uint64_t id);
  bool is_owners(const std::string& dataset) const {
    return dataset.empty() || is_declared(dataset);
  }
  bool counts_for(const Account& account, const std::string& owners) const {
    return owners.empty() ? !is_declared(account.dataset) : account.dataset == owners;
  }
  std::uint32_t open_account(const std::string& client, const std::string& dataset);
  Result<void> apply_one(const AccountEntry& entry);
  Result<void> apply_one(const LimitsEntry& entry);
  Result<void> apply_one(const ChargeEntry& entry);
  Result<void> apply_one(const BindEntry& entry);
  Result<void> apply_one(const DeliveredEntry& entry);

  LedgerHead head_{0, first_hash()};
  std::vector<Account> accounts_;
  Names account_names_;
  std::set<std::string> declared_;
  std::vector<std::string> declared_names_;  // in order
  std::map<std::string, Limits> owners_limits_;
  Names tasks_;
  Names mechanisms_;
  std::vector<Item> items_;  // by id
  std::unordered_map<RoundKey, std::uint64_t, RoundKeyHash> rounds_;
  std::map<std::uint64_t, std::uint64_t> kept_;
};

}  // namespace sotto
