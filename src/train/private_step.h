// One step of DP-SGD (Abadi et al. 2016): the sum of a lot's clipped gradients plus normal noise.
//
// What is exact. A sample joins a lot with probability size / samples, decided by integers. Each
// gradient is scaled down to norm `clip` and cut to multiples of clip 2^-40, towards zero, so its
// norm is at most `clip` as a real number; the lot's sum is one of integers. So one sample more or
// less moves the sum by at most `clip`, whatever floating point does inside the network, as long as
// a sample's gradient does not depend on the others of the lot: it is computed on its own.
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

class PrivateStep {
 public:
  /// For gradients of `size` elements. `places`: where the parameters lie among them, in the order
  /// that they draw noise; the rest is filling, always 0. Empty: all of them, as they come.
  PrivateStep(std::size_t size, const TrainOptions& options,
              std::span<const std::uint32_t> places = {});

  /// Adds a sample's gradient, clipped. One with a value that is not finite adds nothing.
  void add(std::span<const float> gradient);
  /// Writes (sum + noise) / `divisor`, nothing into filling, and begins the next lot.
  void finish(BitSource& bits, double divisor, std::span<float> out);

 private:
  double clip_;
  double deviation_;  // of the noise
  bool rounds_;
  std::size_t size_;
  std::span<const std::uint32_t> places_;
  std::vector<float> padded_;  // a copy of the gradient with zeros behind it
  std::vector<std::int64_t> sums_;
  std::vector<std::uint64_t> words_;
  std::vector<double> noise_;
};

}  // namespace sotto
