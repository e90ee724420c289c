#include "account/ledger/ledger_book.h"

#include <algorithm>

namespace sotto {
namespace {

tl::unexpected<Error> impossible(const std::string& what) {
  return fail(ErrorKind::kCorrupt, what);
}

}  // namespace

std::uint32_t Book::Names::number(const std::string& name) {
  const auto [at, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(&at->first);
  return at->second;
}

const std::uint32_t* Book::Names::find(const std::string& name) const {
  const auto at = numbers_.find(name);
  return at == numbers_.end() ? nullptr : &at->second;
}

std::size_t Book::RoundKeyHash::operator()(const RoundKey& key) const noexcept {
  const std::uint64_t mixed = (std::uint64_t{key.account} << 32U | key.round) * 0x9E3779B97F4A7C15U;
  return std::hash<std::uint64_t>{}(mixed ^ (mixed >> 29U) ^ key.task);
}

const Book::Account* Book::find_account(const std::string& client,
                                        const std::string& dataset) const {
  const auto* const number = account_names_.find(account_key(client, dataset));
  return number == nullptr ? nullptr : &accounts_[*number];
}

const Book::Item* Book::find_item(std::uint64_t id) const {
  const auto at = std::lower_bound(items_.begin(), items_.end(), id,
                                   [](const Item& item, std::uint64_t x) { return item.id < x; });
  return at == items_.end() || at->id != id ? nullptr : &*at;
}

Book::Item* Book::mutable_item(std::uint64_t id) {
  const Item* const found = find_item(id);
  return found == nullptr ? nullptr : &items_[static_cast<std::size_t>(found - items_.data())];
}

const Book::Item* Book::find_round(const ChargeRequest& request) const {
  const auto* const account = account_names_.find(account_key(request.client, request.dataset));
  const auto* const task = tasks_.find(request.task);
  if (account == nullptr || task == nullptr) return nullptr;
  const auto at = rounds_.find({*account, *task, request.round});
  return at == rounds_.end() ? nullptr : find_item(at->second);
}

const Book::Item* Book::find_round_of_client(const ChargeRequest& request) const {
  const auto* const task = tasks_.find(request.task);
  if (task == nullptr) return nullptr;
  const Item* best = nullptr;
  for (std::uint32_t number = 0; number < accounts_.size(); ++number) {
    if (accounts_[number].client != request.client) continue;
    const auto at = rounds_.find({number, *task, request.round});
    if (at == rounds_.end()) continue;
    const Item* const item = find_item(at->second);
    if (best == nullptr || item->state > best->state ||
        (item->state == best->state && item->id < best->id)) {
      best = item;
    }
  }
  return best;
}

const Limits* Book::limits_of_owner(const std::string& name) const {
  const auto at = owners_limits_.find(name);
  return at == owners_limits_.end() ? nullptr : &at->second;
}

Spending Book::spending_of_owner(const std::string& name) const {
  Spending all;
  if (const Limits* const limits = limits_of_owner(name)) all.set_limits(*limits);
  // What was charged first decides how deltas are counted, so its group comes first.
  for (const Item& item : items_) {
    if (!counts_for(account_of(item), name)) continue;
    all.add(cost_of(item), 0);
    break;
  }
  for (const Account& account : accounts_) {
    if (counts_for(account, name)) all.add(account.spending);
  }
  return all;
}

std::string_view Book::hash_of(const Item& item) {
  if (item.state == ChargeState::kCharged) return {};
  return {item.hash.data(), item.hash.size()};
}

Charge Book::charge_of(const Item& item) const {
  return {.id = item.id,
          .round = item.round,
          .mechanism_id = mechanism_of(item),
          .state = item.state,
          .report_hash = std::string(hash_of(item))};
}

Result<void> Book::apply(const Entry& entry, std::string_view text) {
  SOTTO_CHECK(std::visit([this](const auto& one) { return apply_one(one); }, entry));
  head_ = {head_.entries + 1, next_hash(head_.hash, text)};
  return {};
}

std::uint32_t Book::open_account(const std::string& client, const std::string& dataset) {
  const std::uint32_t number = account_names_.number(account_key(client, dataset));
  if (number == accounts_.size()) accounts_.push_back({client, dataset, {}, {}});
  return number;
}

Result<void> Book::apply_one(const AccountEntry& entry) {
  if (is_declared(entry.name)) return impossible("an account that is declared twice");
  const bool used = std::ranges::any_of(
      accounts_, [&](const Account& account) { return account.dataset == entry.name; });
  if (used) return impossible("an account with the name of a data set that was charged before");
  declared_.insert(entry.name);
  declared_names_.push_back(entry.name);
  return {};
}

Result<void> Book::apply_one(const LimitsEntry& entry) {
  if (!entry.client.empty()) {
    if (is_declared(entry.dataset)) return impossible("limits of a client in the owner's account");
    accounts_[open_account(entry.client, entry.dataset)].spending.set_limits(entry.limits);
    return {};
  }
  if (!is_owners(entry.dataset)) return impossible("limits of an account that nobody declared");
  owners_limits_[entry.dataset] = entry.limits;
  for (Account& account : accounts_) {
    if (account.dataset == entry.dataset) account.spending.set_limits(entry.limits);
  }
  return {};
}

Result<void> Book::apply_one(const ChargeEntry& entry) {
  const auto* number = account_names_.find(account_key(entry.client, entry.dataset));
  if (is_owners(entry.dataset)) {
    const Limits* const limits = limits_of_owner(entry.dataset);
    if (limits == nullptr) return impossible("a charge of an account that has no limits");
    accounts_[open_account(entry.client, entry.dataset)].spending.set_limits(*limits);
    number = account_names_.find(account_key(entry.client, entry.dataset));
  }
  if (number == nullptr) return impossible("a charge of an account that has no limits");
  const RoundKey key{*number, tasks_.number(entry.task), entry.round};
  const std::uint64_t id = head_.entries + 1;
  if (!rounds_.try_emplace(key, id).second) return impossible("a round that is charged twice");
  const std::size_t group = accounts_[*number].spending.add(entry.cost);
  items_.push_back({.id = id,
                    .account = *number,
                    .mechanism = mechanisms_.number(entry.mechanism_id),
                    .group = static_cast<std::uint32_t>(group),
                    .round = entry.round});
  return {};
}

Result<void> Book::apply_one(const BindEntry& entry) {
  Item* const item = mutable_item(entry.charge);
  if (item == nullptr) return impossible("a report without a charge");
  if (item->state != ChargeState::kCharged) return impossible("a second report for one charge");
  item->state = ChargeState::kBound;
  std::copy_n(entry.hash.begin(), item->hash.size(), item->hash.begin());
  Account& account = accounts_[item->account];
  for (const std::uint64_t id : account.settled) kept_.erase(id);
  account.settled.clear();
  if (entry.size) kept_.emplace(entry.charge, *entry.size);
  return {};
}

Result<void> Book::apply_one(const DeliveredEntry& entry) {
  Item* const item = mutable_item(entry.charge);
  if (item == nullptr) return impossible("a delivery without a charge");
  if (item->state != ChargeState::kBound) {
    return impossible("a delivery of what was not bound, or was delivered before");
  }
  item->state = ChargeState::kDelivered;
  if (kept_.contains(entry.charge)) accounts_[item->account].settled.push_back(entry.charge);
  return {};
}

}  // namespace sotto
