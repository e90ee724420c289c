// `em`: the ordinal exponential mechanism of ldp-fed (Ordinal-CLDP). Weights become integers
// v in [-R, R] around the centre, R = round(r 10^p), and a report is an integer y of the same range
// with P(y | v) = e^(-a |v - y|) / Z(v), a = alpha / 2.
//
// Guarantee, with D = 2R. By the triangle inequality e^(-a |v - y|) changes by a factor of at most
// e^(a |v - v'|) from v to v', and so does Z: that is alpha-CLDP, a log-ratio of at most
// alpha |v - v'|. As LDP it is a D = alpha D / 2, not twice that: let v <= v' (else mirror) and let
// m = D - (v' + R) be the steps from v' to its end. Z is least at the two ends, where it is equal,
// and Z(v') <= e^(a m) Z(end), again by the triangle inequality. So the log-ratio is at most
// a |v - v'| + a m <= a D. The outputs at the ends attain it: Z cancels there.
//
// a is the greatest double not above epsilon / D, so a D <= epsilon in exact arithmetic. Sampling
// is exact (geometric.h): no probability is rounded, however small, and the epsilon is exactly a D.
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "base/exact/exact.h"
#include "base/text.h"
#include "mechanism/value/geometric.h"

namespace sotto {
namespace {

/// Moments lose up to three times the digits of a, which has at most 80 bits before its first one.
using Wide = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<512, boost::multiprecision::digit_base_2>>;

/// Sums of q^k, k q^k and k^2 q^k over k = 1, ..., n.
struct ArmSums {
  ArmSums(const Wide& q, double steps) {
    const Wide n = steps;
    const Wide power = pow(q, n);
    const Wide gap = 1 - q;
    zeroth = q * (1 - power) / gap;
    first = q * (1 - power * (n + 1 - n * q)) / (gap * gap);
    const Wide last = (n + 1) * (n + 1) - (2 * n * n + 2 * n - 1) * q + n * n * q * q;
    second = q * (1 + q - power * last) / (gap * gap * gap);
  }
  Wide zeroth, first, second;
};

/// The greatest double not above the value.
double below(const Wide& value) {
  const auto nearest = value.convert_to<double>();
  return Wide(nearest) <= value ? nearest
                                : std::nextafter(nearest, -std::numeric_limits<double>::infinity());
}

class EmChannel final : public GeometricChannel {
 public:
  EmChannel(const DecimalGrid& grid, double rate)
      : GeometricChannel(
            grid, GeometricDistribution{
                      .rate = rate, .reach = grid.radius(), .bound = grid.radius(), .cut = true}) {}

  /// Z = ((1 - q^(l+1)) + q (1 - q^u)) / (1 - q) for l steps below and u above.
  double log_prob(Symbol symbol, float weight) const override {
    if (symbol < smallest() || symbol > largest()) return -std::numeric_limits<double>::infinity();
    const double rate = distribution().rate;
    const auto input = static_cast<double>(input_of(weight));
    const auto reach = static_cast<double>(grid().radius());
    const double below = -std::expm1(-rate * (reach + input + 1.0));
    const double above = -std::exp(-rate) * std::expm1(-rate * (reach - input));
    const double log_total = std::log((below + above) / -std::expm1(-rate));
    return -rate * std::abs(static_cast<double>(symbol) - input) - log_total;
  }

  Moments moments(float weight) const override {
    const std::int64_t input = input_of(weight);
    const Wide q = exp(-Wide(distribution().rate));
    const ArmSums down(q, static_cast<double>(grid().radius() + input));
    const ArmSums up(q, static_cast<double>(grid().radius() - input));
    const Wide total = 1 + down.zeroth + up.zeroth;
    const Wide shift = (up.first - down.first) / total;
    const Wide variance = (up.second + down.second) / total - shift * shift;
    const double bias = shift.convert_to<double>() / grid().scale();
    return {grid().value(input) + bias, bias,
            variance.convert_to<double>() / (grid().scale() * grid().scale())};
  }

  /// Of all inputs the two ends have the least probability for an output y: by the bounds above,
  /// with m the steps from v to the end that lies beyond it as seen from y, P(y | v) is at least
  /// e^(-a |v - y| - a m) / Z(end) = P(y | end). So the minimum is q^(|y| + R) / Z(end), with
  /// respect to the distribution in proportion to it no density exceeds e^epsilon times the floor,
  /// and the floor is its sum, q^R (1 + q - 2 q^(R+1)) / (1 - q^(2R+1)): near 2 / (1 + e^(eps/2)).
  Background background() const override {
    if (grid().radius() == 0) return {0.0, 1.0};
    const Wide q = exp(-Wide(distribution().rate));
    const Wide far = pow(q, Wide(grid().radius()));
    const Wide floor = far * (1 + q - 2 * q * far) / (1 - q * far * far);
    // 512 bits lose at most 3 * 80 of them; no double is as fine.
    return {worst_case().epsilon, below(floor * (1 - Wide(0x1p-200)))};
  }
};

constexpr ParameterInfo kParameters[] = {
    {.name = "epsilon",
     .low = 1e-9,
     .high = 1e6,
     .required = false,
     .meaning = "the largest log-ratio for a weight; or give alpha"},
    {.name = "alpha",
     .low = 1e-24,
     .high = 1e6,
     .required = false,
     .meaning = "the log-ratio for a distance of one grid step; epsilon = alpha D / 2"},
    kPrecision,
};

Result<DecimalGrid> grid_of(const Range& range, const Parameters& parameters) {
  auto grid = DecimalGrid::make(range, get(parameters, "precision"), kMostSteps);
  if (!grid) return at("em", grid.error());
  return grid;
}

/// e^(-rate |v - y|): the greatest double with rate D <= epsilon, or alpha / 2.
double rate_of(const DecimalGrid& grid, const Parameters& parameters) {
  if (has(parameters, "alpha")) return get(parameters, "alpha") / 2.0;
  return exact::divide_down(get(parameters, "epsilon"), steps_of(grid));
}

Result<std::shared_ptr<const Channel>> make_channel(const Range& range,
                                                    const Parameters& parameters) {
  SOTTO_TRY(const DecimalGrid grid, grid_of(range, parameters));
  return std::make_shared<EmChannel>(grid, rate_of(grid, parameters));
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  if (has(parameters, "epsilon") == has(parameters, "alpha")) {
    return fail(ErrorKind::kUsage, "em needs epsilon, " + kParameters[0].valid() + ", or alpha, " +
                                       kParameters[1].valid() +
                                       ": exactly one of the two (epsilon = alpha D / 2)");
  }
  // A range with a wider grid has a larger epsilon for the same alpha, and a smaller alpha for the
  // same epsilon.
  double claimed = 0.0;
  double alpha = 0.0;
  for (const Range& range : domain.ranges) {
    SOTTO_TRY(const DecimalGrid grid, grid_of(range, parameters));
    alpha = std::max(alpha, 2.0 * rate_of(grid, parameters));
    claimed = std::max(claimed, has(parameters, "epsilon")
                                    ? get(parameters, "epsilon")
                                    : exact::multiply_up(rate_of(grid, parameters),
                                                         2.0 * static_cast<double>(grid.radius())));
  }
  return ValueMechanism::make(
      "em.v1", std::move(domain), parameters, claimed,
      "alpha-CLDP with alpha = " + short_number(alpha) +
          " for each grid step, which is pure local differential privacy with epsilon = " +
          short_number(claimed) + " = alpha D / 2 for each weight",
      make_channel, alpha);
}

}  // namespace

const Registration em_registration = {
    .info = {.name = "em",
             .kind = MechanismKind::kValue,
             .summary = "a value of the grid, exponentially less likely with distance",
             .input = "a weight in [c - r, c + r], rounded to a grid of step 10^-precision",
             .output = "a value of the same grid",
             .guarantee = "alpha-CLDP, and epsilon-LDP with epsilon = alpha D / 2, for each weight",
             .unbiased = false,
             .bias = "biased towards the centre of the range",
             .reference = "Truex et al. 2020 (LDP-Fed), Ordinal-CLDP",
             .published_client_claim =
                 "alpha is the loss between updates that differ by one grid step in every weight; "
                 "two clients' updates can differ by the whole range of D steps, which costs "
                 "alpha D / 2 for each weight: no theorem makes alpha a client's epsilon",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
