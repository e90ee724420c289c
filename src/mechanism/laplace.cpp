// `laplace`: additive noise on the grid. The weight becomes an integer v in [-R, R] around the
// centre, R = round(r 10^p), and the report is v plus two-sided geometric noise,
// P(y | v) = (1 - q) / (1 + q) q^|y - v| over all integers y, q = e^-a: Laplace noise in integers
// (Ghosh, Roughgarden, Sundararajan 2009), with sensitivity 2r, the whole width of the range.
//
// Guarantee: |y - v'| - |y - v| <= 2R, so the log-ratio is at most 2R a, attained by every y >= R
// for the two ends of the range. a is the greatest double not above epsilon / 2R.
//
// Symbols need an end: what lies beyond +-B is reported as +-B, with B = R + ceil(80 / a). That is
// post-processing, which raises no ratio (and the end symbols' tail masses, q^(B -+ v) / (1 + q),
// have the same ratio); it touches less than 2^-114 of the probability. Unbiased but for that;
// variance 2q / (1 - q)^2 steps squared, about 2 (2r / epsilon)^2, the same for every input.
#include <cmath>
#include <limits>

#include "base/exact/exact.h"
#include "base/text.h"
#include "mechanism/value/geometric.h"

namespace sotto {
namespace {

/// e^-kTails is what may lie beyond the bound.
constexpr double kTails = 80.0;
/// e^-500, the least floor, in units of 2^-kUnit still has all digits of a double.
constexpr unsigned kUnit = 1100;

/// R + 80 / a, before a is known exactly.
double bound_of(const DecimalGrid& grid, double epsilon) {
  return static_cast<double>(grid.radius()) +
         std::ceil(kTails * steps_of(grid) / epsilon * (1.0 + 0x1p-40));
}

class LaplaceChannel final : public GeometricChannel {
 public:
  LaplaceChannel(const DecimalGrid& grid, double epsilon)
      : GeometricChannel(
            grid, GeometricDistribution{.rate = exact::divide_down(epsilon, steps_of(grid)),
                                        .reach = grid.radius(),
                                        .bound = static_cast<std::int64_t>(bound_of(grid, epsilon)),
                                        .cut = false}) {}

  double log_prob(Symbol symbol, float weight) const override {
    if (symbol < smallest() || symbol > largest()) return -std::numeric_limits<double>::infinity();
    const double rate = distribution().rate;
    const double distance = std::abs(static_cast<double>(symbol - input_of(weight)));
    // An end gathers its tail: P(noise >= m) = q^m / (1 + q).
    const bool end = symbol == smallest() || symbol == largest();
    const double log_scale = end ? -std::log1p(std::exp(-rate)) : std::log(std::tanh(rate / 2.0));
    return log_scale - rate * distance;
  }

  Moments moments(float weight) const override {
    // 2q / (1 - q)^2 = 1 / (2 sinh^2(a / 2)); gathering the tails changes it by less than 2^-100.
    const double half = std::sinh(distribution().rate / 2.0) * grid().scale();
    return {grid().value(input_of(weight)), 0.0, 0.5 / half / half};
  }

  /// Relative to the distribution of the middle input 0 the density is q^(|y - v| - |y|), and q^-+v
  /// for the ends: between q^R and q^-R, which are e^(-eps/2) and e^(eps/2).
  Background background() const override {
    const double most =
        exact::multiply_up(distribution().rate, static_cast<double>(grid().radius()));
    const exact::Rational unit(exact::Integer(1) << kUnit);
    const exact::Rational floor(exact::floor_times_exp(unit, -most), exact::Integer(1) << kUnit);
    return {worst_case().epsilon, exact::round_down(floor)};
  }
};

constexpr ParameterInfo kParameters[] = {kEpsilon, kPrecision};

Result<std::shared_ptr<const Channel>> make_channel(const Range& range,
                                                    const Parameters& parameters) {
  const double epsilon = get(parameters, "epsilon");
  const int precision = static_cast<int>(get(parameters, "precision"));
  constexpr auto kMost = static_cast<double>(kMostSteps);
  const auto grid = DecimalGrid::make(range, precision, kMostSteps);
  if (!grid) return at("laplace", grid.error());
  if (bound_of(*grid, epsilon) > kMost) {
    // A coarser grid is there when a finer one is.
    const auto coarser = [&range](int p) { return *DecimalGrid::make(range, p, kMostSteps); };
    int valid = precision - 1;
    while (valid >= 0 && bound_of(coarser(valid), epsilon) > kMost) --valid;
    const DecimalGrid coarsest = coarser(0);
    const double least =
        kTails * steps_of(coarsest) / (kMost - static_cast<double>(coarsest.radius()) - 1.0);
    return fail(ErrorKind::kUsage,
                "laplace: at epsilon " + short_number(epsilon) + " and precision " +
                    std::to_string(precision) + " the noise needs more than 2^50 grid steps; " +
                    (valid >= 0 ? "valid: a precision of at most " + std::to_string(valid)
                                : "valid for this range: epsilon of at least " +
                                      short_number(1.001 * least) + ", with precision 0"));
  }
  return std::make_shared<LaplaceChannel>(*grid, epsilon);
}

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  return ValueMechanism::make("laplace.v1", std::move(domain), parameters,
                              get(parameters, "epsilon"),
                              "pure local differential privacy for each weight", make_channel);
}

}  // namespace

const Registration laplace_registration = {
    .info = {.name = "laplace",
             .kind = MechanismKind::kValue,
             .summary = "two-sided geometric noise on a grid: Laplace noise in integers",
             .input = "a weight in [c - r, c + r], rounded to a grid of step 10^-precision",
             .output = "a value of the grid, also beyond the range",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Dwork et al. 2006; Ghosh, Roughgarden, Sundararajan 2009",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
