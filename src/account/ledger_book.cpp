#include "account/ledger_book.h"

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

Result<void> Book::apply_one(const LimitsEntry& entry) {
  const std::uint32_t number = account_names_.number(account_key(entry.client, entry.dataset));
  if (number == accounts_.size()) accounts_.push_back({entry.client, entry.dataset, {}, {}});
  accounts_[number].spending.set_limits(entry.limits);
  return {};
}

Result<void> Book::apply_one(const ChargeEntry& entry) {
  const auto* const number = account_names_.find(account_key(entry.client, entry.dataset));
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
