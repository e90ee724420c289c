#include "mechanism/vector/privunit_exact.h"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>

#include "base/exact/sums.h"
#include "mechanism/vector/privunit_bound.h"
#include "mechanism/vector/sphere.h"

namespace sotto {
namespace {

constexpr unsigned kMoreWords = 4;

/// c_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)), from c_2 = 1 / pi and c_3 = 1/2 upwards.
Real density_at_equator(std::size_t dimension) {
  Real c = dimension % 2 == 0 ? Real(1 / boost::math::constants::pi<Real>()) : Real(0.5);
  for (std::size_t d = 2 + dimension % 2; d < dimension; d += 2) c = c * d / (d - 1);
  return c;
}

/// The sum of (m + 1/2)_k / (from)_k z^k, z < 1.
Real positive_series(const Real& m, const Real& from, const Real& z) {
  Real term = 1, sum = 1;
  const Real above = m + 0.5;
  for (std::uint64_t k = 0;; ++k) {
    const Real ratio = (above + k) / (from + k) * z;
    term *= ratio;
    sum += term;
    if (ratio < 0.75 && term < ldexp(sum, -390)) return sum;
  }
}

constexpr int kNewtonEnd = -190;  // a step this small leaves its square
constexpr int kNewtonRounds = 100;
const Real& largest() {  // s or c is below sqrt(1/2), or the other one would be solved for
  static const Real value = 0.75;
  return value;
}

/// s from C(s) = 1/2 - probability.
Real sine_of(const Real& m, const Real& c_d, const Real& probability, Real s) {
  for (int round = 0; round < kNewtonRounds; ++round) {
    const Real power = exp(m * log(1 - s * s));
    const Real central = c_d * s * power * positive_series(m, Real(1.5), s * s);
    const Real step = (central - (Real(0.5) - probability)) * (1 - s * s) / (c_d * power);
    s = std::clamp<Real>(s - step, 0, largest());
    if (abs(step) < ldexp(Real(1), kNewtonEnd)) break;
  }
  return s;
}

/// c from T(c) = probability, in logarithms: near the pole ln T is almost linear in ln c.
Real cosine_of(const Real& m, const Real& c_d, const Real& probability, Real c) {
  for (int round = 0; round < kNewtonRounds; ++round) {
    const Real s = sqrt(1 - c * c);
    const Real front = c_d * exp(2 * m * log(c));
    const Real tail = front * s / (2 * m) * positive_series(m, m + 1, c * c);
    const Real step = log(tail / probability) * s * tail / front;
    c = std::min<Real>(c * exp(-step), largest());
    if (abs(step) < ldexp(Real(1), kNewtonEnd)) break;
  }
  return c;
}

}  // namespace

Real uniform_from(std::uint64_t word, unsigned bits, MoreBits more) {
  Real value = bits < 64 ? word & ((std::uint64_t{1} << bits) - 1) : word;
  for (unsigned i = 0; i < kMoreWords; ++i) value = ldexp(value, 64) + more.next_u64();
  return ldexp(value + 0.5, -static_cast<int>(bits + 64 * kMoreWords));
}

RealAngle exact_angle(std::size_t dimension, const Real& probability) {
  const Real c_d = density_at_equator(dimension);
  const Real m = Real(dimension - 1) / 2;
  const double start = Sphere(dimension).angle(probability.convert_to<double>());
  RealAngle angle;
  if (std::sin(start) < std::cos(start)) {
    angle.sine = sine_of(m, c_d, probability, Real(std::sin(start)));
    angle.cosine = sqrt(1 - angle.sine * angle.sine);
  } else {
    angle.cosine = cosine_of(m, c_d, probability, Real(std::max(std::cos(start), 0x1p-60)));
    angle.sine = sqrt(1 - angle.cosine * angle.cosine);
  }
  return angle;
}

RealPair exact_pair(const Real& radius, std::uint64_t signs, const Real& octant) {
  const Real r = sqrt(-2 * log(radius));
  const Real angle = boost::math::constants::pi<Real>() / 4 * octant;
  RealPair pair{r * cos(angle), r * sin(angle)};
  if ((signs >> 61 & 1) != 0) std::swap(pair.first, pair.second);
  if (signs >> 63 != 0) pair.first = -pair.first;
  if ((signs >> 62 & 1) != 0) pair.second = -pair.second;
  return pair;
}

std::vector<Real> exact_normals(BlockStream& stream, std::uint64_t block, std::size_t count) {
  const std::size_t pairs = padded(count) / 2;
  std::vector<std::uint64_t> words(2 * pairs);
  stream.seek(block);
  stream.fill(std::span(words));
  std::vector<Real> noise(count);
  for (std::size_t i = 0; i < std::min(pairs, count); ++i) {
    const std::uint64_t turn = words[pairs + i];
    const RealPair pair = exact_pair(uniform_from(words[i], 64, stream.more(i)), turn,
                                     uniform_from(turn, 61, stream.more(pairs + i)));
    noise[i] = pair.first;
    if (pairs + i < count) noise[pairs + i] = pair.second;
  }
  return noise;
}

void RealSums::add(std::span<const Real> noise, std::span<const float> input_values) {
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const Real x = input_values[i];
    square += noise[i] * noise[i];
    product += noise[i] * x;
    input += x * x;
  }
}

void RealSums::add(const RealSums& other) {
  square += other.square;
  product += other.product;
  input += other.input;
}

RealPlan plan_exactly(std::size_t dimension, const RealSums& sums, const RealAngle& angle) {
  const Real reach = kPrivUnitScale * sqrt(Real(dimension));
  const Real length = sqrt(sums.input);
  const Real along = sums.product / length;
  const Real left = sums.square - along * along;
  const Real a = left > 0 ? Real(reach * angle.cosine / sqrt(left)) : Real(0);
  return {a, (reach * angle.sine - a * along) / length};
}

void round_exactly(const RealPlan& plan, std::span<const Real> noise, std::span<const float> input,
                   std::int32_t most, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const Real value = floor(plan.a * noise[i] + plan.b * Real(input[i]) + 0.5);
    out[i] = std::clamp<Real>(value, Real(-most), Real(most)).convert_to<std::int32_t>();
  }
}

}  // namespace sotto
