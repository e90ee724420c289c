// Two-sided geometric noise on a decimal grid, sampled exactly: what `em` and `laplace` share.
//
// With q = e^-a an input index v in [-R, R] becomes the index y in [-B, B] with
//
//   P(y | v) proportional to q^|y - v|, either cut to the range (em: B = R) or with everything
//   beyond +-B gathered there (laplace).
//
// Inversion. Let l = v + B and u = B - v be the steps to the two ends, and let X be uniform on
// (q^(l+1), 1 + q - q^(u+1)), or on (0, 1 + q) where nothing is cut: X = U N + lo for U uniform on
// (0, 1). Then y = v - max{k : q^k > X} if X < 1; otherwise, with X' = 1 + q - X,
// y = v + max{k : q^k > X'}. Both rules give v where X and X' are above q. The largest k with
// q^k > X is floor(t), t = -ln(X) / a. The smaller one of X and X' is used, so that tails far below
// 2^-64 are reached from their thin end.
//
// U is a real number: an infinite row of bits, of which a weight draws 64 at once and more only if
// they are needed. The symbol is a function of those bits and of nothing else. Two ways lead to it:
// - fast(): t in double arithmetic (vectors where there are any) with a proven bound on its error.
//   If no integer lies within the bound, floor(t) is the answer; else it says "open".
// - exactly(): enclosures by integers with more and more bits of U, until one symbol is certain.
// So no rounding enters the sampled distribution, and instruction sets cannot differ in a symbol.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "mechanism/value/grid.h"
#include "mechanism/value/powers.h"
#include "mechanism/value/value.h"

namespace sotto {

/// These grids may have far more than 2^32 values; no index is beyond this.
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 50;

/// From end to end; one, if there is a single index: then nothing is to be hidden.
inline double steps_of(const DecimalGrid& grid) {
  return std::max(1.0, 2.0 * static_cast<double>(grid.radius()));
}

/// The first 64 bits of U and a source for all others.
struct UnitBits {
  std::uint64_t first;
  std::function<std::uint64_t()> next;
};

struct GeometricDistribution {
  double rate;  // a
  std::int64_t reach;
  std::int64_t bound;
  bool cut;  // whether the distribution is cut at the ends, or gathered there
};

/// Inversion by enclosures. Thread-safe.
class ExactGeometric {
 public:
  explicit ExactGeometric(const GeometricDistribution& distribution);

  Symbol draw(std::int64_t input, const UnitBits& bits) const;
  /// Adds up all probabilities for this input, without the closed form of their sum.
  bool sums_to_one(std::int64_t input) const;
  /// q^exponent to a relative error of 2^-53, for an exponent below 2^53 and a result above 2^-300.
  double power(std::uint64_t exponent) const;

 private:
  template <class Int>
  std::optional<Symbol> decide(const Powers<Int>& powers, std::int64_t input, const Int& digits,
                               unsigned count) const;

  GeometricDistribution distribution_;
  unsigned digits_;                // of the largest exponent
  Powers<DoubleWord> first_;       // for the first 64 bits of U, which decide almost always
  Powers<exact::Integer> second_;  // for 128
};

/// e^-x and -ln z as the fast way computes them, for the test of their bounds.
void fast_exponentials(std::span<const double> x, std::span<double> out);
void fast_logarithms(std::span<const double> z, std::span<double> out);

/// All of a channel but its probabilities.
class GeometricChannel : public Channel {
 public:
  GeometricChannel(const DecimalGrid& grid, const GeometricDistribution& distribution);

  Symbol smallest() const noexcept override { return -distribution_.bound; }
  Symbol largest() const noexcept override { return distribution_.bound; }
  Decoding decoding() const noexcept override { return {grid_.value(0), grid_.step()}; }
  WorstCase worst_case() const override;
  unsigned words() const noexcept override { return 2; }
  Symbol draw(float weight, Words words, MoreBits& more) const override;
  void draw_block(const BlockDraw& block, std::int32_t* out) const override;
  void draw_block_wide(const BlockDraw& block, std::int64_t* out) const override;
  ChannelKernel kernel() const override { return kernel_; }
  bool sums_to_one(float weight) const override { return exact_.sums_to_one(input_of(weight)); }
  std::vector<Constant> constants() const override;

  /// By enclosures alone: what draw() gives, whether or not the fast way knows it.
  Symbol draw_exactly(float weight, Words words, MoreBits& more) const;
  /// The fast way alone; nothing where it leaves the symbol open.
  std::optional<Symbol> draw_fast(float weight, Words words) const;

 protected:
  std::int64_t input_of(float weight) const { return grid_.centred(weight); }
  const DecimalGrid& grid() const { return grid_; }
  const GeometricDistribution& distribution() const { return distribution_; }

 private:
  template <class Integer>
  void draw_all(const BlockDraw& block, Integer* out) const;

  DecimalGrid grid_;
  GeometricDistribution distribution_;
  ExactGeometric exact_;
  GeometricKernel kernel_;
};

}  // namespace sotto
