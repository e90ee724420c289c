// Binomial and multinomial counts, drawn in a time that hardly depends on how many trials they
// count.
//
// A table of 64-bit thresholds inverts one random word (and a guide of equal steps finds the place
// in two comparisons). Where the number of trials changes from draw to draw, m = sum of powers of
// two and Bin(m, p) is a sum of independent Bin(2^b, p), each from a table of its own: about
// log2(m) / 2 words. Nothing is approximated by a normal distribution: a table's distribution is
// the binomial one up to error(), a total variation of about 1e-12 that follows from the relative
// error of base/binomial.h, and who states a confidence takes it off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/bits.h"

namespace sotto {

/// A distribution on first, first + 1, ..., by inversion of one word.
class CountTable {
 public:
  CountTable(std::uint64_t first, std::span<const double> probabilities, double error);
  static CountTable binomial(std::uint64_t trials, double p, double q);
  /// Bin(trials, p) plus an independent 1 with probability `extra`.
  static CountTable binomial_and_one(std::uint64_t trials, double p, double q, double extra);

  std::uint64_t draw(BitSource& bits) const {
    const std::uint64_t word = bits.next_u64();
    std::size_t at = guide_[word >> shift_];
    while (word > last_[at]) ++at;
    return first_ + at;
  }
  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t end() const noexcept { return first_ + last_.size(); }
  /// Total variation from what is meant.
  double error() const noexcept { return error_; }

 private:
  std::uint64_t first_;
  std::vector<std::uint64_t> last_;   // the last word of each value; the final one is 2^64 - 1
  std::vector<std::uint32_t> guide_;  // where the words with these upper bits begin
  unsigned shift_ = 63;
  double error_ = 0.0;
};

/// Bin(m, p) for every m up to a limit.
class BinomialLadder {
 public:
  BinomialLadder(std::uint64_t most, double p, double q);
  std::uint64_t draw(std::uint64_t trials, BitSource& bits) const;
  double error() const noexcept { return error_; }

 private:
  std::vector<CountTable> steps_;  // of 1, 2, 4, ... trials
  double error_ = 0.0;             // of all steps together
};

/// How many of `trials` independent choices fall on each of k outcomes: the outcomes are split in
/// halves again and again, each split by a binomial count.
class MultinomialDraw {
 public:
  MultinomialDraw(std::uint64_t trials, std::vector<double> probabilities);
  void draw(BitSource& bits, std::span<std::uint64_t> counts) const;
  double error() const noexcept { return error_; }

 private:
  struct Split {
    std::size_t begin, middle, end;
    BinomialLadder left;
  };
  std::uint64_t trials_;
  std::size_t outcomes_;
  std::vector<Split> splits_;  // parents before children
  double error_ = 0.0;
};

}  // namespace sotto
