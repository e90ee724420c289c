// The decimal grid on which value mechanisms draw: the range [c - r, c + r] in steps of 10^-p.
//
// C = round(c 10^p) and R = round(r 10^p); the d = 2R + 1 grid values are (C + s) 10^-p for the
// centred index s = -R .. R, which is also the symbol that travels: its sum over clients is exact,
// and C enters once, when the sum is decoded. A weight goes to the nearest grid value, the lower
// one of two equally near, and never outside. All of it is double arithmetic without a fused step,
// so a vector kernel that repeats centred() operation by operation gives the same index.
#pragma once

#include <cmath>
#include <cstdint>

#include "sotto/result.h"
#include "sotto/stages.h"

namespace sotto {

class DecimalGrid {
 public:
  /// With this radius R, d is still below 2^31.
  static constexpr std::int64_t kLargestRadius = (std::int64_t{1} << 30) - 1;

  /// An error where R is above `largest_radius` or C + R too large to be exact in a double; it
  /// names the largest precision that this range allows. `precision` is a whole number in [0, 15].
  static Result<DecimalGrid> make(const Range& range, double precision,
                                  std::int64_t largest_radius = kLargestRadius);

  std::int64_t centre() const noexcept { return centre_; }  // C
  std::int64_t radius() const noexcept { return radius_; }  // R
  std::int64_t size() const noexcept { return 2 * radius_ + 1; }
  double scale() const noexcept { return scale_; }  // 10^p
  double step() const noexcept { return 1.0 / scale_; }

  /// The centred index of the nearest grid value: ceil(w 10^p - (C + 1/2)), then clamped.
  std::int64_t centred(float weight) const noexcept {
    const double offset = std::ceil(static_cast<double>(weight) * scale_ - shift());
    const auto reach = static_cast<double>(radius_);
    return static_cast<std::int64_t>(std::fmin(std::fmax(offset, -reach), reach));
  }
  double shift() const noexcept { return static_cast<double>(centre_) + 0.5; }

  /// The grid value of a centred index.
  double value(std::int64_t centred_index) const noexcept {
    return static_cast<double>(centre_ + centred_index) / scale_;
  }

 private:
  DecimalGrid(double scale, std::int64_t centre, std::int64_t radius)
      : scale_(scale), centre_(centre), radius_(radius) {}
  double scale_;
  std::int64_t centre_;
  std::int64_t radius_;
};

}  // namespace sotto
