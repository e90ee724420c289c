// The channel of srr and grr: a weight goes to the grid, the staircase chooses a rank, the rank is
// an output. Two words a weight: the first chooses the group, the second the place inside it.
//
// Word 0 is compared with the upper halves of the 64-bit thresholds; where it equals one of them
// (m words in 2^32) the lower half is drawn too. Word 1 times the group's size, a 64-bit product,
// has the place in its upper half; a lower half below 2^32 mod g is rejected and drawn anew, which
// makes the place exactly uniform (Lemire 2019). Symbols are centred grid indices.
#pragma once

#include "mechanism/staircase/staircase.h"
#include "mechanism/value/channel.h"
#include "mechanism/value/grid.h"

namespace sotto {

/// The staircase as the vector kernel reads it.
struct StaircaseKernel {
  double scale;
  double shift;
  std::int32_t radius;
  std::int32_t groups;
  // One entry a group, then up to a power of two of the largest int: the upper half of the
  // threshold that ends it, its highest bit turned so that a signed comparison orders them; the
  // size; the first rank.
  std::vector<std::int32_t> upper;
  std::vector<std::int32_t> size;
  std::vector<std::int32_t> begin;
};

class StaircaseChannel final : public Channel {
 public:
  /// A decoded value is C 10^-p + symbol 10^-p / slope.
  StaircaseChannel(const DecimalGrid& grid, Staircase staircase, double slope = 1.0);

  const Staircase& staircase() const noexcept { return staircase_; }
  Symbol smallest() const noexcept override { return -grid_.radius(); }
  Symbol largest() const noexcept override { return grid_.radius(); }
  Decoding decoding() const noexcept override;
  WorstCase worst_case() const override;
  unsigned words() const noexcept override { return 2; }
  Symbol draw(float weight, Words words, MoreBits& more) const override;
  void draw_block(const BlockDraw& block, std::int32_t* out) const override;
  ChannelKernel kernel() const override;
  double log_prob(Symbol symbol, float weight) const override;
  Moments moments(float weight) const override;
  bool sums_to_one(float weight) const override;
  /// Relative to the distribution in proportion to the least probability of each output; for two
  /// groups of which the first has at most R + 1 outputs it is uniform. No density is above
  /// e^epsilon times the least one of its output.
  Background background() const override { return {epsilon_, staircase_.least_common()}; }
  std::vector<Constant> constants() const override;

 private:
  DistanceRanks ranks_of(float weight) const { return {grid_.radius(), grid_.centred(weight)}; }

  DecimalGrid grid_;
  Staircase staircase_;
  double slope_;
  double epsilon_;
  StaircaseKernel kernel_;
};

}  // namespace sotto
