#include "mechanism/vector/sphere.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace sotto {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kNodes = 64;

struct Quadrature {
  std::array<double, kNodes> node;    // in (0, 1)
  std::array<double, kNodes> weight;  // sum to 1
};

/// Gauss-Legendre: the roots of P_n by Newton's method, carried to [0, 1].
const Quadrature& quadrature() {
  static const Quadrature rule = [] {
    Quadrature made{};
    for (std::size_t i = 0; i < kNodes; ++i) {
      long double x = std::cos(std::numbers::pi_v<long double> *
                               (static_cast<long double>(i) + 0.75L) / (kNodes + 0.5L));
      long double slope = 0.0L;
      for (int round = 0; round < 20; ++round) {
        long double before = 1.0L, here = x;
        for (std::size_t n = 2; n <= kNodes; ++n) {
          const auto k = static_cast<long double>(n);
          const long double next = ((2.0L * k - 1.0L) * x * here - (k - 1.0L) * before) / k;
          before = here;
          here = next;
        }
        slope = kNodes * (x * here - before) / (x * x - 1.0L);
        x -= here / slope;
      }
      made.node[i] = static_cast<double>((1.0L - x) / 2.0L);
      made.weight[i] = static_cast<double>(1.0L / ((1.0L - x * x) * slope * slope));
    }
    return made;
  }();
  return rule;
}

/// With this tail.
double deviate_of(double probability) {
  return std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * probability);
}

}  // namespace

Sphere::Sphere(std::size_t dimension) : power_(static_cast<double>(dimension) - 2.0) {
  c_ = 0.5 / relative_tail(0.0);
}

double Sphere::inverse_mean() const noexcept { return (power_ + 1.0) / (2.0 * c_); }

double Sphere::relative_tail(double psi) const {
  if (power_ == 0.0) return kPi / 2.0 - psi;
  // Where the density has fallen by e^-42: ln cos lies below -x^2/2, so it has there at the latest.
  const double end = std::min(kPi / 2.0, std::sqrt(psi * psi + 84.0 / power_));
  const double width = end - psi;
  const double cosine = std::cos(psi);
  const Quadrature& rule = quadrature();
  double sum = 0.0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    // cos^2(psi + t) / cos^2(psi) = 1 - sin(t) sin(2 psi + t) / cos^2(psi)
    const double t = width * rule.node[i];
    const double fall = std::sin(t) * std::sin(2.0 * psi + t) / (cosine * cosine);
    if (fall < 1.0) sum += rule.weight[i] * std::exp(0.5 * power_ * std::log1p(-fall));
  }
  return width * sum;
}

double Sphere::power_of_cosine(double psi, double k) {
  const double sine = std::sin(psi);
  return psi < 1.0 ? std::exp(0.5 * k * std::log1p(-sine * sine)) : std::pow(std::cos(psi), k);
}

double Sphere::tail(double psi) const {
  return c_ * power_of_cosine(psi, power_) * relative_tail(psi);
}

double Sphere::partial_mean(double psi) const {
  return c_ / (power_ + 1.0) * power_of_cosine(psi, power_ + 1.0);
}

double Sphere::angle(double probability) const {
  if (probability >= 0.5) return 0.0;
  if (power_ == 0.0) return kPi / 2.0 - kPi * probability;
  // The start is the normal deviate of the same tail.
  return descend(probability, std::min(deviate_of(probability) / std::sqrt(power_ + 0.5), 1.2));
}

double Sphere::angle(double probability, const AngleTable& starts) const {
  if (probability >= 0.5) return 0.0;
  if (power_ == 0.0) return kPi / 2.0 - kPi * probability;
  return descend(probability, starts.angle(deviate_of(probability)));
}

double Sphere::slope(double deviate, double angle) const {
  const double normal = std::exp(-0.5 * deviate * deviate) / std::sqrt(2.0 * kPi);
  return normal / (c_ * power_of_cosine(angle, power_));
}

/// Newton's method on ln tail, which is concave: after the first step it descends to the root.
double Sphere::descend(double probability, double psi) const {
  for (int round = 0; round < 100; ++round) {
    const double inside = relative_tail(psi);
    const double front = c_ * power_of_cosine(psi, power_);
    const double off = std::log(front * inside / probability);
    // -d/dpsi ln tail = 1 / relative_tail. Never further than half the way to the pole.
    double next = psi + off * inside;
    if (next < 0.0) next = psi / 2.0;
    if (!(next < kPi / 2.0)) next = (psi + kPi / 2.0) / 2.0;
    psi = next;
    if (std::abs(off) < 1e-9) break;  // the step squares what is left
  }
  return psi;
}

AngleTable::AngleTable(const Sphere& sphere) {
  for (std::size_t i = 0; i <= kSteps; ++i) {
    const double deviate = static_cast<double>(i) / kPerUnit;
    const double angle = sphere.angle(0.5 * std::erfc(deviate / std::numbers::sqrt2));
    nodes_[i] = {angle, sphere.slope(deviate, angle) / kPerUnit};
  }
}

double AngleTable::angle(double deviate) const {
  const double place = deviate * kPerUnit;
  const auto last = static_cast<double>(kSteps);
  if (!(place < last)) return nodes_[kSteps].angle;
  const auto i = static_cast<std::size_t>(place);
  const double t = place - static_cast<double>(i);
  const Node& from = nodes_[i];
  const Node& to = nodes_[i + 1];
  const double rise = to.angle - from.angle;
  // Hermite's cubic.
  return from.angle + t * (from.slope + t * (3.0 * rise - 2.0 * from.slope - to.slope +
                                             t * (from.slope + to.slope - 2.0 * rise)));
}

}  // namespace sotto
