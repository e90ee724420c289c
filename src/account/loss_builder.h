// Makes one side of a PrivacyLoss from outputs, one by one.
//
// An output with probability p and loss l between two grid points is split in two, one at each
// point, so that both its probability under P and its probability p e^-l under Q are kept:
//
//   p_low = p (e^(s - t) - 1) / (e^s - 1),  t = l - low, s the step;  p_high = p - p_low.
//
// Merging the two again gives the original output: the original pair is a post-processing of the
// split one, which therefore dominates it, in both directions. (The hockey-stick curve is exact at
// the grid points and linear in e^epsilon between them.) A last rounding error goes to the higher
// point.
#pragma once

#include <cmath>

#include "sotto/account.h"

namespace sotto {

class LossBuilder {
 public:
  /// A grid that holds all losses in [-reach, reach], with a step of at most `step` where that
  /// takes no more than kMost points.
  LossBuilder(double step, double reach);

  static constexpr std::size_t kMost = std::size_t{1} << 16;

  void add(double loss, double probability) {
    const double at = loss / side_.step;
    const double low = std::floor(at);
    const auto i = static_cast<std::size_t>(low - static_cast<double>(side_.first));
    const double lower = probability * share((low + 1.0 - at) * side_.step) * (1.0 - 1e-14);
    side_.probabilities[i] += lower;
    side_.probabilities[i + 1] += probability - lower;
  }
  void add_infinite(double probability) { side_.infinite += probability; }

  /// The side; `error` is what its probabilities may be wrong by, relatively.
  PrivacyLoss::Side finish(double error) &&;
  /// Both directions alike, or each on its own.
  static PrivacyLoss symmetric(PrivacyLoss::Side side);
  static PrivacyLoss directed(PrivacyLoss::Side forward, PrivacyLoss::Side backward);

 private:
  /// (e^x - 1) / (e^step - 1) for 0 <= x <= step; e^step itself may be too large for a double.
  double share(double x) const {
    if (!small_) return std::exp(x - side_.step) * std::expm1(-x) * scale_;
    return scale_ * x *
           (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))));
  }

  PrivacyLoss::Side side_;
  double scale_ = 1.0;
  bool small_ = false;
};

}  // namespace sotto
