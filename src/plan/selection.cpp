#include "plan/selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_set>

#include "sotto/bits.h"

namespace sotto {

std::vector<std::uint32_t> pick_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                        std::size_t count) {
  BitSource bits = BitSource::from_seed(seed, "select", {round});
  // Floyd's algorithm: O(count) time and memory however many clients there are.
  std::unordered_set<std::uint32_t> chosen;
  for (std::size_t last = clients - count; last < clients; ++last) {
    const auto candidate = static_cast<std::uint32_t>(bits.below(last + 1));
    if (!chosen.insert(candidate).second) chosen.insert(static_cast<std::uint32_t>(last));
  }
  std::vector<std::uint32_t> picked(chosen.begin(), chosen.end());
  std::sort(picked.begin(), picked.end());
  return picked;
}

std::vector<std::uint32_t> accept_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                          double share) {
  BitSource bits = BitSource::from_seed(seed, "accept", {round});
  // How many are passed over before the next one is geometric: drawn at once, not coin by coin, so
  // that a round costs what it takes however many clients there are.
  const double fails = std::log1p(-share);
  std::vector<std::uint32_t> accepted;
  for (std::size_t client = 0; client < clients; ++client) {
    const double passed = std::floor(std::log(1.0 - bits.unit()) / fails);
    if (passed >= static_cast<double>(clients - client)) break;
    client += static_cast<std::size_t>(passed);
    accepted.push_back(static_cast<std::uint32_t>(client));
  }
  return accepted;
}

std::vector<std::uint32_t> deal_order(std::uint64_t seed, std::size_t clients) {
  BitSource bits = BitSource::from_seed(seed, "deal", {});
  std::vector<std::uint32_t> order(clients);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(std::span(order), bits);
  return order;
}

std::vector<std::uint32_t> pick_once(std::span<const std::uint32_t> order, RoundId round,
                                     std::size_t rounds) {
  const auto place = [&](std::size_t before) {
    return order.begin() + static_cast<std::ptrdiff_t>(order.size() * before / rounds);
  };
  std::vector<std::uint32_t> picked(place(round - 1), place(round));
  std::sort(picked.begin(), picked.end());
  return picked;
}

bool is_anonymous(const Recipe::Federation& federation) {
  return federation.selection == SelectionRule::kAnonymous;
}

std::vector<std::uint32_t> Selection::round(RoundId round) const {
  const auto seed = static_cast<std::uint64_t>(federation_.seed);
  if (is_anonymous(federation_)) {
    const double share = static_cast<double>(count_) / static_cast<double>(clients_);
    return accept_clients(seed, round, clients_, share);
  }
  if (federation_.selection == SelectionRule::kOnce) {
    if (order_.empty()) order_ = deal_order(seed, clients_);
    return pick_once(order_, round, static_cast<std::size_t>(federation_.rounds));
  }
  return pick_clients(seed, round, clients_, count_);
}

}  // namespace sotto
