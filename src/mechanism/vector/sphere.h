// One coordinate of a uniform point on the unit sphere of R^d, in terms of its angle psi to the
// equator: the coordinate is sin psi, with density c_d cos^(d-2) psi, psi in [-pi/2, pi/2],
// c_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)).
//
// The tail P(sin psi' >= sin psi) is integrated by Gauss-Legendre quadrature of the density
// relative to its value at psi, a sum of positive terms that cancels nowhere; c_d comes from the
// same quadrature at psi = 0, where the tail is 1/2. That keeps the tail's relative error below
// 2^-46 for d up to 10^7 and tails down to 2^-64, where a general incomplete beta function is
// left with ten digits.
#pragma once

#include <array>
#include <cstddef>

namespace sotto {

class AngleTable;

class Sphere {
 public:
  /// d >= 2.
  explicit Sphere(std::size_t dimension);

  /// c_d.
  double density_at_equator() const noexcept { return c_; }
  /// 1 / E|v_1| = sqrt(pi) Gamma((d+1)/2) / Gamma(d/2).
  double inverse_mean() const noexcept;
  /// P(v_1 >= sin psi) for psi in [0, pi/2].
  double tail(double psi) const;
  /// The psi in [0, pi/2] with tail(psi) = probability, which is in (0, 1/2].
  double angle(double probability) const;
  /// The same up to the last bits, from a start that is right to nine digits: one integral and not
  /// four where the dimension is large.
  double angle(double probability, const AngleTable& starts) const;
  /// E[v_1; v_1 >= sin psi] = c_d cos^(d-1) psi / (d - 1): the S of PrivUnit.
  double partial_mean(double psi) const;

  /// d angle / d deviate, where the tail at `angle` is that of the normal deviate.
  double slope(double deviate, double angle) const;

 private:
  double descend(double probability, double psi) const;
  /// The integral of cos^(d-2) over [psi, pi/2], relative to cos^(d-2) psi.
  double relative_tail(double psi) const;
  /// cos^k psi.
  static double power_of_cosine(double psi, double k);

  double power_;  // d - 2
  double c_ = 1.0;
};

/// Angles of the normal deviates up to 8 with the same tails, by cubics between 129 of them.
class AngleTable {
 public:
  /// Of d >= 3.
  explicit AngleTable(const Sphere& sphere);
  /// Of a deviate from 0 on; beyond the table that of its end.
  double angle(double deviate) const;

 private:
  static constexpr std::size_t kSteps = 128;
  static constexpr double kPerUnit = 16.0;
  struct Node {
    double angle;
    double slope;  // of a step
  };
  std::array<Node, kSteps + 1> nodes_{};
};

}  // namespace sotto
