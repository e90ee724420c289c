// One step of DP-SGD (Abadi et al. 2016): the sum of a lot's clipped gradients plus normal noise.
//
// What is exact. A sample joins a lot with probability size / samples, decided by integers. Each
// gradient is scaled down to norm `clip` and cut to multiples of clip 2^-40, towards zero, so its
// norm is at most `clip` as a real number; the lot's sum is one of integers. So one sample more or
// less moves the sum by at most `clip`, whatever floating point does inside the network, as long as
// a sample's gradient does not depend on the others of the lot: it is computed on its own.
//
// Products. The gradient of a linear layer is a g^T with the layer's input a and the signal g at
// its output, so its norm is known without it, and a lot's clipped sum is one product of matrices
// with g scaled (Goodfellow 2015). What one sample adds is a g'^T with the floats a and g' as they
// are: a real matrix of norm |a| |g'|, which is checked after scaling. The sum of a group of them
// is a chain of float32 additions that rounds, so the clip inside is smaller by a share `slack`:
//
// Let all of a group's g samples have norm <= c, and let p_k be the sum of the first k as
// computed. Each step rounds the product and the sum by at most u = 2^-24 of what they are, so with
// e_k = |p_k - exact sum| we have e_k <= e_(k-1) + u (k c + c + 2 e_(k-1)), in the l2 norm over all
// elements, and e_g <= (1 + 2^-10) u c g (g + 3) / 2. Groups are cut to integers, at most one unit
// an element, and summed as such. One sample more or less may shift all later samples from group to
// group and one from product to written gradient or back, so both lots' errors count:
//
//   slack = (1 + 2^-10) u most (group + 3) + 2 (most / group + 1) sqrt(size) 2^-40 + 2^-20
//
// for at most `most` samples in groups of `group`; the last term is for that one shifted sample
// (8 u), the last sum in doubles (most 2^-51) and underflow (size 2^-126 against clip >= 2^-60).
// Then (1 - slack) clip + slack clip <= clip, and the accountant's sensitivity stands. Samples of a
// lot beyond `most` are written out. slack is below 0.0011; where that is not possible, or the clip
// is not within 2^-60 and 2^60, there are no products.
//
// What is not. The deviates and the addition are doubles. The result is rounded to multiples of
// clip noise / kNoiseLattice: post-processing of the real sum, except where doubles round
// differently, which happens with probability `coupling` a step at most (mechanism/normal.h).
// Weights in float32 come after that and may be whatever they like.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/bits.h"
#include "sotto/trainer.h"

namespace sotto {

/// How many samples of a lot go into products, how many into one, and what that takes of the clip.
struct Products {
  std::size_t most = 0;   // a multiple of group
  std::size_t group = 0;  // 0: none
  double slack = 0.0;
};
Products products_of(const Lots& lots, std::size_t size, double clip, std::size_t largest_group);

class PrivateStep {
 public:
  PrivateStep() = default;
  PrivateStep(std::size_t size, const TrainOptions& options) { begin(size, options); }

  /// For gradients of `size` elements (a multiple of 8 where there are products). `places`: where
  /// the parameters lie among them, in the order that they draw noise; the rest is alignment,
  /// always 0. Empty: all of them, as they come. Allocates only when it must hold more than before.
  void begin(std::size_t size, const TrainOptions& options,
             std::span<const std::uint32_t> places = {}, const Products& products = {});

  /// Adds a sample's gradient, clipped. One with a value that is not finite adds nothing.
  void add(std::span<const float> gradient);

  /// What a sample's gradient is to be multiplied by when its squared norm is `square`; 0 where
  /// that is not finite. It leaves room for what a product with it rounds in float32.
  double factor(double square) const;
  /// Whether a gradient of this squared norm, after scaling, may go into a product.
  bool fits(double square) const { return square <= limit_ * limit_ * (1.0 - 0x1p-30); }
  /// Adds the part of a sample's gradient that is written out, the first elements; a multiple of 8.
  void add_written(std::span<const float> gradient, double factor);
  /// Adds a group's product: the elements from `first` on.
  void add_product(std::span<const float> sums, std::size_t first);

  /// Writes (sum + noise) / `divisor`, nothing into alignment, and begins the next lot. From
  /// `product_first` on, `out` holds the last group's product, which belongs to the sum.
  void finish(BitSource& bits, double divisor, std::span<float> out,
              std::size_t product_first = SIZE_MAX);

 private:
  double clip_ = 0.0;
  double limit_ = 0.0;      // the norm that gradients are clipped to
  double deviation_ = 0.0;  // of the noise
  bool rounds_ = true;
  std::size_t size_ = 0;
  std::span<const std::uint32_t> places_;
  std::vector<float> padded_;  // a copy of the gradient with zeros behind it
  std::vector<std::int64_t> sums_;
  std::size_t used_ = 0;  // the sums behind this many are all 0
  std::vector<std::uint64_t> words_;
  std::vector<double> noise_;
};

}  // namespace sotto
