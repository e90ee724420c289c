// `gaussian`: x, clipped to norm L, plus N(0, sigma^2) in every coordinate. The baseline of DP-SGD,
// and the only mechanism here whose delta is asked for.
//
// Any vector of the ball may be replaced by any other, so the sensitivity is D = 2L, and by the
// analytic Gaussian mechanism (Balle, Wang 2018) the least delta at epsilon is
//
//   Phi(D / (2 sigma) - eps sigma / D) - e^eps Phi(-D / (2 sigma) - eps sigma / D).
//
// sigma is found in 50 decimal digits and rounded up. The sum is made in doubles and rounded to
// multiples of sigma / 16: post-processing of the real one, except where the doubles round
// differently. The probability tau of that costs (1 + e^eps) tau of the delta that was asked for
// (coupling_of below), and sigma is chosen for what remains.
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

#include "base/text.h"
#include "mechanism/value/constants.h"
#include "mechanism/vector/normal.h"
#include "mechanism/vector/vector.h"

namespace sotto {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;

constexpr double kPerSigma = 16.0;  // lattice points
constexpr double kReach = 9.5;      // no deviate of 64 bits is as large: sqrt(2 ln 2^64) = 9.42

Wide normal_below(const Wide& z) { return erfc(-z / sqrt(Wide(2))) / 2; }

/// The least delta at epsilon when sensitivity / sigma is `ratio`.
Wide delta_at(const Wide& epsilon, const Wide& ratio) {
  return normal_below(ratio / 2 - epsilon / ratio) -
         exp(epsilon) * normal_below(-ratio / 2 - epsilon / ratio);
}

/// The largest sensitivity / sigma whose delta is at most `delta`, to 10 digits and below.
double largest_ratio(double epsilon, double delta) {
  double low = 0.0, high = 1.0;
  const auto allowed = [&](double ratio) {
    return delta_at(epsilon, ratio) <= Wide(delta) * (1 - Wide(1e-12));
  };
  while (allowed(high) && high < 1e6) high *= 2.0;
  for (int round = 0; round < 60 && high - low > 1e-11 * high; ++round) {
    const double middle = (low + high) / 2.0;
    (allowed(middle) ? low : high) = middle;
  }
  return low;
}

double coupling_of(double dimension, double norm_in_sigma) {
  return lattice_coupling(kPerSigma, dimension, norm_in_sigma);
}

class Gaussian final : public VectorMechanism {
 public:
  /// `ratio` is not below sensitivity / sigma.
  Gaussian(Domain domain, const Parameters& parameters, double sigma, double ratio)
      : VectorMechanism("gaussian.v1", std::move(domain), parameters),
        sigma_(sigma),
        ratio_(ratio) {
    set_lattice(static_cast<Symbol>(std::ceil(kPerSigma * (kReach + 1.001 * norm() / sigma_))),
                sigma_ / kPerSigma);
    const double epsilon = get(parameters, "epsilon");
    set_guarantee(epsilon, get(parameters, "delta"), epsilon,
                  "(epsilon, delta) local differential privacy for the whole vector");
  }

  Guarantee guarantee() const override {
    Guarantee all = VectorMechanism::guarantee();
    all.gaussian_ratio = ratio_;
    return all;
  }

  /// No log-ratio is the largest: beyond epsilon they go on, with probability delta.
  WorstCase worst_case() const override {
    WorstCase worst;
    worst.epsilon = guarantee().epsilon;
    worst.input = "a vector of norm " + short_number(norm());
    worst.other_input = "its opposite";
    worst.output = "the half-space on the first one's side, up to delta";
    return worst;
  }

  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    double square = 0.0;
    for (std::size_t i = 0; i < report.size(); ++i) {
      const double off = step() * static_cast<double>(report[i]) - static_cast<double>(x[i]);
      square += off * off;
    }
    return -square / (2.0 * sigma_ * sigma_);
  }

  /// -|y - x|^2 / 2 sigma^2 without -|y|^2 / 2 sigma^2.
  std::optional<double> log_prob_along(double product, double norm) const override {
    return (step() * product - norm * norm / 2.0) / (sigma_ * sigma_);
  }

  Moments moments(std::span<const float> x, std::size_t output) const override {
    return {static_cast<double>(x[output]), 0.0, sigma_ * sigma_ + step() * step() / 12.0};
  }

  /// Normal distributions differ by more than any epsilon; what is known is how far doubles may go
  /// astray.
  Background background(std::size_t /*first*/, std::size_t /*count*/) const override {
    Background background;
    background.coupling = coupling_of(static_cast<double>(dimension()), 1.001 * norm() / sigma_);
    return background;
  }
  std::vector<Constant> constants() const override {
    return {integer_constant("largest symbol", largest_symbol()), real_constant("sigma", sigma_),
            real_constant("step", step())};
  }

  /// The normal distribution is continuous and has no integers to count; its lattice has no gap.
  bool sums_to_one(std::span<const float> /*x*/, std::size_t /*output*/) const override {
    return static_cast<double>(largest_symbol()) * step() >= kReach * sigma_ + norm();
  }

 private:
  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override {
    const StreamKey key(bits);
    Lanes work = lanes(key, threads);
    const Combination how{kPerSigma, kPerSigma / sigma_, static_cast<double>(largest_symbol())};
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block), all = padded(count);
      std::array<double, kBlock> noise;
      lane.stream.seek(block);
      lane.stream.fill(std::span(lane.words64(), all));
      normals(lane.words64(), all / 2, noise.data());
      combine(how, noise.data(), input_of(input, block, lane), all, lane.symbols32());
      out.write(block * kBlock, std::span<const std::int32_t>(lane.symbols32(), count));
    });
  }

  double sigma_;
  double ratio_;
};

constexpr ParameterInfo kParameters[] = {kEpsilon,
                                         {.name = "delta",
                                          .low = 0.0,
                                          .high = 0.5,
                                          .low_open = true,
                                          .meaning = "what may exceed e^epsilon"},
                                         kNorm};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  SOTTO_CHECK(VectorMechanism::check_size("gaussian", domain));
  const double epsilon = get(parameters, "epsilon");
  const double delta = get(parameters, "delta");
  const double norm = get(parameters, "norm");
  const auto d = static_cast<double>(domain.layout->size());
  // Sensitivity / sigma is below sqrt(2 eps) + 2 sqrt(2 ln(1/delta)), so twice L / sigma is too.
  const double most_ratio =
      std::sqrt(2.0 * epsilon) + 2.0 * std::sqrt(2.0 * std::log(1.0 / delta)) + 2.0;
  const double slack = (1.0 + std::exp(epsilon)) * coupling_of(d, most_ratio / 2.0) * (1.0 + 1e-9);
  if (!(slack < delta)) {
    return fail(ErrorKind::kUsage, "gaussian: delta = " + short_number(delta) + " at epsilon " +
                                       short_number(epsilon) + " and " +
                                       std::to_string(domain.layout->size()) +
                                       " coordinates; valid: a number in (" + short_number(slack) +
                                       ", 0.5], because double precision alone takes so much");
  }
  // bound() sums squares in doubles: a vector may be longer than L by a part in 2^40 or less. The
  // 2^-30 covers that and the roundings here, so `ratio` is above the true sensitivity / sigma.
  const double ratio = std::min(largest_ratio(epsilon, delta - slack), most_ratio);
  const double sigma = 2.0 * norm * (1.0 + 0x1p-30) / ratio;
  return std::make_unique<Gaussian>(std::move(domain), parameters, sigma, ratio);
}

}  // namespace

const Registration gaussian_registration = {
    .info = {.name = "gaussian",
             .kind = MechanismKind::kVector,
             .summary = "the vector plus normal noise, for the DP-SGD baseline",
             .input = "a vector of l2 norm at most L",
             .output = "a multiple of sigma / 16 for each coordinate",
             .guarantee = "(epsilon, delta)-LDP for the whole vector",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Balle, Wang 2018 (the analytic Gaussian mechanism)",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
