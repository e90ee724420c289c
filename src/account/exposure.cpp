// What an exposure says without any privacy arithmetic: rounds, batches, mechanisms.
#include <algorithm>

#include "sotto/claims.h"

namespace sotto {

Turn turn_of(std::shared_ptr<const Mechanism> mechanism, std::uint64_t rounds,
             std::uint64_t batch) {
  Turn turn;
  turn.variants = {{std::move(mechanism)}};
  turn.rounds = rounds;
  if (batch > 0 && rounds > 0) turn.batches = {{batch, rounds}};
  return turn;
}

std::uint64_t Exposure::rounds() const {
  std::uint64_t sum = 0;
  for (const Turn& turn : turns) sum += turn.rounds;
  return sum;
}

std::map<std::uint64_t, std::uint64_t> Exposure::batches() const {
  std::map<std::uint64_t, std::uint64_t> all;
  for (const Turn& turn : turns) {
    for (const auto& [size, rounds] : turn.batches) all[size] += rounds;
  }
  return all;
}

std::vector<std::shared_ptr<const Mechanism>> Exposure::mechanisms() const {
  std::vector<std::shared_ptr<const Mechanism>> all;
  std::map<std::string_view, std::size_t> known;
  for (const Turn& turn : turns) {
    for (const auto& together : turn.variants) {
      for (const auto& mechanism : together) {
        if (known.emplace(mechanism->id(), all.size()).second) all.push_back(mechanism);
      }
    }
  }
  return all;
}

}  // namespace sotto
