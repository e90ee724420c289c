// Which clients take part in a round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/recipe.h"
#include "sotto/stages.h"

namespace sotto {

/// `count` different clients of `clients`, in ascending order, every set equally likely; decided by
/// seed and round alone.
std::vector<std::uint32_t> pick_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                        std::size_t count);

/// The clients of one of `rounds` rounds, in ascending order, when every client takes part in one
/// round alone: all ways to deal them out evenly are equally likely, and decided by the seed.
std::vector<std::uint32_t> pick_once(std::span<const std::uint32_t> order, RoundId round,
                                     std::size_t rounds);

/// Every client with probability `share`, independently of the others: nobody who does not see the
/// coins knows who was taken. May be empty.
std::vector<std::uint32_t> accept_clients(std::uint64_t seed, RoundId round, std::size_t clients,
                                          double share);

/// The order in which pick_once deals them out; each round has a part of it.
std::vector<std::uint32_t> deal_order(std::uint64_t seed, std::size_t clients);

/// Whether nobody sees who was picked.
bool is_anonymous(const Recipe::Federation& federation);

/// The clients of each round as the recipe selects them, in time that grows with those who are
/// selected: what takes longer is done once.
class Selection {
 public:
  /// `count` is what fraction or k come to.
  Selection(const Recipe::Federation& federation, std::size_t clients, std::size_t count)
      : federation_(federation), clients_(clients), count_(count) {}
  std::vector<std::uint32_t> round(RoundId round) const;

 private:
  Recipe::Federation federation_;
  std::size_t clients_;
  std::size_t count_;
  mutable std::vector<std::uint32_t> order_;  // of selection "once", from its first use on
};

}  // namespace sotto
