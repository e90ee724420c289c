#include "mechanism/vector/privunit_cap.h"

#include <algorithm>

namespace sotto::privunit {

using exact::Integer;

const Integer& whole() {
  static const Integer two_to_64 = Integer(1) << 64;
  return two_to_64;
}

double share(const Integer& words) { return std::ldexp(words.convert_to<double>(), -64); }

namespace {

/// ln M at epsilon for the cap that begins at the angle psi, with q as small as the coin can be.
double log_mean(const Sphere& sphere, double epsilon, double psi) {
  const double q = std::max(sphere.tail(psi), 0x1p-64);
  // (e^eps - 1) / (1 + (e^eps - 1) q) without e^eps, which may overflow.
  const double gain = -std::expm1(-epsilon) / (std::exp(-epsilon) - std::expm1(-epsilon) * q);
  return std::log(sphere.partial_mean(psi)) + std::log(gain);
}

/// The angle with the largest M: golden sections. M rises from the equator to one maximum.
double best_angle(const Sphere& sphere, double epsilon) {
  constexpr double kGolden = 0.6180339887498949;
  double low = 0.0;
  double high = sphere.angle(0x1p-63);
  for (int round = 0; round < 60; ++round) {
    const double left = high - kGolden * (high - low);
    const double right = low + kGolden * (high - low);
    if (log_mean(sphere, epsilon, left) < log_mean(sphere, epsilon, right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return (low + high) / 2.0;
}

/// The most words p with p (2^64 - q) <= e^epsilon q (2^64 - p), in exact arithmetic.
Integer most_p(const Integer& q, double epsilon) {
  Integer low = 0, high = whole();  // low is allowed, high is not
  while (high - low > 1) {
    const Integer middle = (low + high) / 2;
    const bool allowed =
        exact::at_most_exp(middle * (whole() - q), q * (whole() - middle), epsilon);
    (allowed ? low : high) = middle;
  }
  return low;
}

}  // namespace

Cap make_cap(std::size_t dimension, const Sphere& sphere, double epsilon,
             std::optional<double> asked) {
  Cap cap;
  if (dimension > 1) {
    const double q = asked ? *asked : sphere.tail(best_angle(sphere, epsilon));
    cap.q = Integer(static_cast<std::uint64_t>(std::min(q, 0.5) * 0x1p64));
    if (cap.q < 1) cap.q = 1;
    const double psi = sphere.angle(share(cap.q));
    cap.sine = std::sin(psi);
    cap.partial_mean = sphere.partial_mean(psi);
  }
  cap.p = most_p(cap.q, epsilon);
  // M = S (p - q) / (q (1 - q)): the numerator in integers, where it cancels.
  const double q = share(cap.q);
  cap.mean = cap.partial_mean * std::ldexp(Integer(cap.p - cap.q).convert_to<double>(), -64) /
             (q * share(Integer(whole() - cap.q)));
  return cap;
}

double coupling_of(std::size_t dimension, const Cap& cap) {
  if (dimension == 1) return 0.0;
  const double ratio = share(cap.p) / share(cap.q) * (1.0 + 1e-9);
  return ratio * static_cast<double>(dimension) * (dimension < 64 ? 0x1p-96 : 0x1p-130);
}

}  // namespace sotto::privunit
