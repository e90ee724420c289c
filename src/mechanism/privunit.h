// privunit with another caution than its own, for tests of its two paths; and what a device that
// draws its reports needs of it.
#pragma once

#include <span>

#include "base/exact/sums.h"
#include "base/random/streams.h"
#include "mechanism/vector/privunit_bound.h"
#include "sotto/mechanism.h"

namespace sotto {

/// `caution` times the proven error bounds decide which blocks are computed in real arithmetic: 1
/// is the mechanism of the registry, infinity takes that path always, 0 never. The distribution of
/// the report is the same for every value from 1 on.
Result<std::unique_ptr<Mechanism>> make_privunit(Domain domain, const Parameters& parameters,
                                                 double caution);

/// The parts of a report's computation that concern a whole vector, for whoever computes those of
/// the coordinates: for every block of 4,096 the deviates and the sums below, then the symbols of
/// the plan.
class PrivUnitParts {
 public:
  virtual ~PrivUnitParts() = default;

  /// Of a block's deviates g and the input x. Where the vector is zero the first axis stands for x.
  struct BlockSums {
    WideSum square;   // g g
    WideSum product;  // g x
    WideSum input;    // x x
    RadiusRange radii{};
  };
  /// What the words that concern the whole vector decide.
  struct Coins {
    std::uint64_t sign = 0;
    double psi = 0.0;
    double psi_error = 0.0;
  };
  virtual Coins coins_of(const StreamKey& key) const = 0;
  /// Fills `off` with the uncertainty of every block's coordinates, and returns a and b.
  virtual Combination plan_of(const Coins& coins, bool is_zero, std::span<const BlockSums> sums,
                              std::span<Uncertainty> off) const = 0;
  /// The report that perturb() draws of `bounded`, computed from scratch.
  virtual PackedSymbols symbols_of(std::span<const float> bounded, const StreamKey& key) const = 0;
};

/// Null for any other mechanism.
const PrivUnitParts* privunit_parts(const Mechanism& mechanism);

}  // namespace sotto
