// `privunit` (Bhowmick et al. 2018; parameters as Asi, Feldman, Talwar 2022): a point of the unit
// sphere that lies in the cap {v : <v, u> >= gamma} around the client's direction u with
// probability p, uniform there, and otherwise uniform on the rest of the sphere.
//
//   q = P(cap) under the uniform law; epsilon = ln(p (1 - q) / (q (1 - p))); E[v] = M u with
//   M = p S / q - (1 - p) S / (1 - q), S = E[<v, u>; cap]; decoding divides by M.
//
// p and q are integers over 2^64, and gamma is the real number that q belongs to: it is never
// compared with. The cap is chosen by an integer coin; t = <v, u> is the quantile of a uniform
// number below q or above it; v = t u + sqrt(1 - t^2) w with w uniform and orthogonal to u. All of
// that in doubles, then rounded to a lattice of step 1 / (16 sqrt d). Rounding the real v is
// post-processing; the doubles may end in another lattice point with a probability tau that
// coupling_of() bounds, and P(S | x) <= e^eps P(S | x') + (1 + e^eps) tau is what is guaranteed.
#include <cmath>

#include "base/exact.h"
#include "base/text.h"
#include "mechanism/constants.h"
#include "mechanism/normal.h"
#include "mechanism/sphere.h"
#include "mechanism/vector.h"

namespace sotto {
namespace {

using exact::Integer;

constexpr double kPerUnit = 16.0;  // lattice points in 1 / sqrt(d)

const Integer& whole() {
  static const Integer two_to_64 = Integer(1) << 64;
  return two_to_64;
}

double share(const Integer& chances) { return std::ldexp(chances.convert_to<double>(), -64); }

/// The cap: its chances q under the uniform law and p under ours, and what follows from them.
struct Cap {
  Integer q = Integer(1) << 63;
  Integer p;
  double sine = 0.0;          // gamma
  double partial_mean = 0.5;  // S
  double mean = 0.0;          // M
};

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

/// The most chances p with p (2^64 - q) <= e^epsilon q (2^64 - p), in exact arithmetic.
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

Cap best_cap(std::size_t dimension, const Sphere& sphere, double epsilon) {
  Cap cap;
  if (dimension > 1) {
    const double q = sphere.tail(best_angle(sphere, epsilon));
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

/// An upper bound of the probability that doubles and real arithmetic round to different lattice
/// points. In units of 1 / sqrt(d), Y = sqrt(d) v. The error of a coordinate is, on average over
/// the noise, at most kError (docs/mechanisms.md adds it up: 53 units of 2^-53, 64 are allowed;
/// sixteen times as much below 64 dimensions, where the orthogonal part may be a quarter of the
/// noise) plus the error of the quantile t, kQuantile |u_i|. A coordinate with a unimodal density
/// bounded by f lies within e of a boundary between lattice points with probability at most
/// 2 e (16 + f).
double coupling_of(std::size_t dimension, const Sphere& sphere, const Cap& cap) {
  if (dimension == 1) return 0.0;
  const auto d = static_cast<double>(dimension);
  const double error = dimension < 64 ? 0x1p-43 : 0x1p-47;
  constexpr double kQuantile = 0x1p-45;
  // The law of v has at most p / q times the uniform density; the uniform one's f is below 5 (in
  // two dimensions, where boundaries near +-sqrt 2 count more) and else below 0.6.
  const double p = share(cap.p), q = share(cap.q);
  const double ratio = p / q;
  const double each = 2.0 * (error * d + kQuantile * std::sqrt(d));
  const double by_density = ratio * each * (kPerUnit + 5.0);
  if (dimension < 64) return by_density;
  // Given t, a coordinate with u_i^2 <= 1/2 has f <= 0.57 / sqrt(1 - t^2), and at most one other
  // coordinate exists. E[1 / sqrt(1 - t^2)] is a tail in one dimension less.
  const Sphere lower(dimension - 1);
  const double scale = sphere.density_at_equator() / lower.density_at_equator();
  const double psi = std::asin(cap.sine);
  const double flat = p * scale * lower.tail(psi) / q + (1.0 - p) * scale / (1.0 - q);
  const double by_angle =
      each * (kPerUnit + 0.57 * flat) + 2.0 * ratio * (error + kQuantile) * (kPerUnit + 1.0);
  return std::min(by_density, by_angle);
}

class PrivUnit final : public VectorMechanism {
 public:
  PrivUnit(Domain domain, const Parameters& parameters)
      : VectorMechanism("privunit.v1", std::move(domain), parameters),
        sphere_(std::max<std::size_t>(dimension(), 2)),
        cap_(best_cap(dimension(), sphere_, get(parameters, "epsilon"))) {
    const auto d = static_cast<double>(dimension());
    p_ = cap_.p.convert_to<std::uint64_t>();
    q_share_ = share(cap_.q);
    rest_share_ = share(Integer(whole() - cap_.q));
    const double reach = kPerUnit * std::sqrt(d);
    // Eight bits where the clamp at 127 is met less than once in 2^32 coordinates, else sixteen.
    const double out = std::asin(std::min(1.0, 127.0 / reach));
    const bool narrow =
        reach <= 127.0 || share(cap_.p) / q_share_ * 2.0 * sphere_.tail(out) <= 0x1p-32;
    const double most = std::min(std::ceil(reach * (1.0 + 1e-6)), narrow ? 127.0 : 32767.0);
    set_lattice(static_cast<Symbol>(d == 1.0 ? kPerUnit : most), norm() / (cap_.mean * reach));
    const double epsilon = get(parameters, "epsilon");
    const double tau = coupling_of(dimension(), sphere_, cap_);
    const double slack = (1.0 + std::exp(epsilon)) * (1.0 + 1e-9);
    const double delta = tau == 0.0 ? 0.0 : std::min(1.0, slack * tau);
    set_guarantee(exact_epsilon(), delta, epsilon,
                  "(epsilon, delta) local differential privacy for the whole vector: the ideal "
                  "model is pure, delta bounds what double precision may change");
  }

  WorstCase worst_case() const override {
    WorstCase worst;
    worst.epsilon = exact_epsilon();
    worst.input = "a vector of norm " + short_number(norm()) + " with the output in its cap";
    worst.other_input = "one of that norm with the output outside its cap";
    worst.output = "any vector";
    return worst;
  }

  std::vector<Symbol> alphabet(std::size_t output) const override {
    if (dimension() == 1) return {-static_cast<Symbol>(kPerUnit), static_cast<Symbol>(kPerUnit)};
    return VectorMechanism::alphabet(output);
  }

  /// ln of the density relative to the uniform law, at the direction that the report is decoded to;
  /// in one dimension, where each of two directions has half of that law, ln of the probability.
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    const double length = norm_of(x);
    const double reach = kPerUnit * std::sqrt(static_cast<double>(dimension()));
    const double t = length > 0.0 ? symbols_dot(report, x) / (length * reach)
                                  : static_cast<double>(report[0]) / reach;
    const double inside = share(cap_.p) / q_share_;
    const double outside = share(Integer(whole() - cap_.p)) / rest_share_;
    const auto density = [&](double along) { return in_cap(along) ? inside : outside; };
    const double plus = std::ldexp(static_cast<double>(last_plus(length)) + 1.0, -64);
    const double base = dimension() == 1 ? 0.5 : 1.0;
    return std::log(base * (plus * density(t) + (1.0 - plus) * density(-t)));
  }

  Moments moments(std::span<const float> x, std::size_t output) const override {
    const auto d = static_cast<double>(dimension());
    const auto mean = static_cast<double>(x[output]);
    const double length = norm_of(x);
    const double u = length > 0.0 ? mean / length : (output == 0 ? 1.0 : 0.0);
    // E[t^2] = (1 + gamma M (d - 1)) / d; what is left is shared by the d - 1 other directions.
    const double along = d == 1.0 ? 1.0 : (1.0 + cap_.sine * cap_.mean * (d - 1.0)) / d;
    const double across = d == 1.0 ? 0.0 : (1.0 - along) / (d - 1.0);
    const double square = along * u * u + across * (1.0 - u * u);
    const double scale = norm() / cap_.mean;
    const double lattice = d == 1.0 ? 0.0 : step() * step() / 12.0;
    return {mean, 0.0, scale * scale * square + lattice - mean * mean};
  }

  bool sums_to_one(std::span<const float> /*x*/, std::size_t /*output*/) const override {
    const Integer p = p_;
    return p > 0 && p < whole() && p + (whole() - p) == whole() && cap_.q > 0 &&
           cap_.q <= whole() / 2;
  }

 private:
  double exact_epsilon() const {
    return exact::log_ratio_up(cap_.p * (whole() - cap_.q), cap_.q * (whole() - cap_.p));
  }
  bool in_cap(double along) const { return dimension() == 1 ? along > 0.0 : along >= cap_.sine; }

  /// The angle of t to the equator: in the cap or out of it, by its quantile.
  double angle_of(bool inside, std::uint64_t word) const {
    constexpr double kQuarter = std::numbers::pi / 2.0;
    if (dimension() == 1) return inside ? kQuarter : -kQuarter;
    const double unit = (static_cast<double>(word >> 1) + 0.5) * 0x1p-63;
    if (inside) return sphere_.angle(q_share_ * unit);
    // P(below) of a point outside, in whichever tail it lies.
    const double below = rest_share_ * unit;
    if (below <= 0.5) return -sphere_.angle(below);
    const double above = q_share_ + rest_share_ * (1.0 - unit);
    return sphere_.angle(above);
  }

  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override {
    const StreamKey key(bits);
    Lanes work = lanes(key, threads);
    const auto coin = coins(work);
    const double psi = angle_of(coin[1] < p_, coin[2]);

    const auto noise = std::make_unique_for_overwrite<double[]>(blocks() * kBlock);
    std::vector<WideSum> squares(blocks()), products(blocks()), input_squares(blocks());
    double length = 0.0, along = 0.0, across = 0.0;
    for (std::uint64_t attempt = 0;; ++attempt) {
      for_blocks(work, [&](Lane& lane, std::size_t block) {
        const std::size_t count = count_of(block), all = padded(count);
        const float* const x = input_of(input, block, lane);
        double* const to = noise.get() + block * kBlock;
        lane.stream.seek(attempt << 32 | block);
        lane.stream.fill(std::span(lane.words64(), all));
        normals(lane.words64(), all / 2, to);
        std::fill(to + count, to + all, 0.0);
        squares[block] = dot(to, to, all);
        products[block] = dot(to, x, all);
        input_squares[block] = dot(x, x, all);
      });
      const double square = total(squares).value();
      length = std::sqrt(total(input_squares).value());
      // Without a direction of its own, a zero vector takes the first axis.
      along = length > 0.0 ? total(products).value() / length : noise[0];
      const double left = square - along * along;
      across = std::sqrt(std::max(left, 0.0));
      // w is independent of how much of the noise is orthogonal, so noise that is almost parallel
      // to u, whose remainder would have lost its digits, is drawn anew.
      if (dimension() == 1 || left > square / 16.0) break;
    }
    const bool minus = coin[0] > last_plus(length);
    std::vector<float> axis;
    if (length == 0.0) {
      axis.assign(dimension(), 0.0F);
      axis[0] = 1.0F;
      input = axis;
      length = 1.0;
    }

    const double reach = kPerUnit * std::sqrt(static_cast<double>(dimension()));
    const double t = minus ? -std::sin(psi) : std::sin(psi);
    const double a = dimension() == 1 ? 0.0 : reach * std::cos(psi) / across;
    const Combination how{a, (reach * t - a * along) / length,
                          static_cast<double>(largest_symbol())};
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block);
      combine(how, noise.get() + block * kBlock, input_of(input, block, lane), padded(count),
              lane.symbols32());
      out.write(block * kBlock, std::span<const std::int32_t>(lane.symbols32(), count));
    });
  }

  Sphere sphere_;
  Cap cap_;
  std::uint64_t p_ = 0;
  double q_share_ = 0.5;
  double rest_share_ = 0.5;

 public:
  /// Relative to the uniform law the density is p / q in the cap and (1 - p) / (1 - q) outside, or
  /// a mixture of both; rounding to the lattice takes means of it.
  Background background(std::size_t first, std::size_t count) const override {
    const exact::Rational outside(whole() - cap_.p, whole() - cap_.q);
    const double floor = first == 0 && count == outputs() ? exact::round_down(outside) : 0.0;
    return {exact_epsilon(), floor, coupling_of(dimension(), sphere_, cap_)};
  }
  std::vector<Constant> constants() const override {
    return {integer_constant("p", cap_.p), integer_constant("q", cap_.q),
            integer_constant("dimension", dimension()),
            integer_constant("largest symbol", largest_symbol()), real_constant("step", step())};
  }
};

constexpr ParameterInfo kParameters[] = {kEpsilon, kNorm};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  SOTTO_CHECK(VectorMechanism::check_size("privunit", domain));
  return std::make_unique<PrivUnit>(std::move(domain), parameters);
}

}  // namespace

const Registration privunit_registration = {
    .info = {.name = "privunit",
             .kind = MechanismKind::kVector,
             .summary = "a point of the sphere, more often near the vector's direction",
             .input = "a vector of l2 norm at most L",
             .output = "a vector of nearly fixed length, 8 or 16 bits a coordinate",
             .guarantee = "(epsilon, delta)-LDP for the whole vector; delta is rounding alone",
             .bias = "unbiased",
             .reference = "Bhowmick et al. 2018; Asi, Feldman, Talwar 2022",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
