// ldp-sgd, privunit and gaussian: exact coins, the reference errors that were computed
// independently, unbiasedness and distributions by simulation, the error budget of double
// precision.
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <numbers>

#include "base/exact/exact.h"
#include "base/exact/sums.h"
#include "mechanism/privunit.h"
#include "mechanism/vector/normal.h"
#include "mechanism/vector/vector_kernels.h"
#include "mechanism_fixture.h"

namespace sotto {
namespace {

std::unique_ptr<Mechanism> vector_of(std::string_view name, double epsilon, std::size_t size,
                                     double norm = 1.0) {
  Parameters parameters{{"epsilon", epsilon}, {"norm", norm}};
  if (name == "gaussian") parameters["delta"] = 1e-5;
  return made(name, parameters, {0.0, 1.0}, size);
}

std::vector<float> axis(std::size_t size, float length = 1.0F) {
  std::vector<float> x(size, 0.0F);
  x[0] = length;
  return x;
}

std::vector<float> random_vector(std::size_t size, double length, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "random vector");
  std::vector<double> wide(size);
  double square = 0.0;
  for (double& value : wide) {
    value = bits.normal();
    square += value * value;
  }
  std::vector<float> x;
  for (const double value : wide)
    x.push_back(static_cast<float>(value * length / std::sqrt(square)));
  return x;
}

double squared_error(const Mechanism& mechanism, const std::vector<float>& x) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += mechanism.moments(x, i).variance;
  return sum;
}

TEST(VectorMechanisms, HaveTheReferenceErrors) {
  const double expected[][3] = {{0.5, 26172, 25167}, {1, 7351, 6326},  {2, 2706, 1615},
                                {3, 1915, 741.7},    {5, 1612, 291.3}, {8, 1571, 132.35}};
  for (const auto& [epsilon, ldp_sgd, privunit] : expected) {
    for (const auto& x : {axis(1000), random_vector(1000, 1.0, 1)}) {
      EXPECT_NEAR(squared_error(*vector_of("ldp-sgd", epsilon, 1000), x) / ldp_sgd, 1.0, 4e-4);
      // The lattice of privunit adds one part in 3072, which the reference does not have.
      const double without =
          squared_error(*vector_of("privunit", epsilon, 1000), x) - (privunit + 1.0) / 3072.0;
      EXPECT_NEAR(without / privunit, 1.0, 4e-4);
    }
    // The error scales with the square of the norm.
    EXPECT_NEAR(squared_error(*vector_of("privunit", epsilon, 1000, 3.0), axis(1000, 3.0F)) /
                    squared_error(*vector_of("privunit", epsilon, 1000), axis(1000)),
                9.0, 1e-6);
  }
}

TEST(VectorMechanisms, AreMadeForEveryDimensionAndEpsilon) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{10}, std::size_t{63},
        std::size_t{64}, std::size_t{1000}, std::size_t{100'000}, std::size_t{10'000'000}}) {
    double before = std::numeric_limits<double>::infinity();
    for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 5.0, 8.0, 12.0, 20.0, 100.0, 1000.0}) {
      for (const std::string_view name : {"ldp-sgd", "privunit"}) {
        const auto mechanism = vector_of(name, epsilon, size);
        const Guarantee guarantee = mechanism->guarantee();
        EXPECT_LE(guarantee.epsilon, epsilon);
        EXPECT_EQ(guarantee.epsilon, mechanism->worst_case().epsilon);
        if (epsilon <= 20.0) {
          EXPECT_GE(guarantee.epsilon, epsilon * (1.0 - 1e-6)) << size;
        }
        EXPECT_GE(guarantee.delta, 0.0);
        EXPECT_LE(guarantee.delta, 1.0);
        if (name == "ldp-sgd" || size == 1) {
          EXPECT_EQ(guarantee.delta, 0.0);
        }
        const std::vector<float> zero(size, 0.0F);
        const Moments moments = mechanism->moments(zero, size - 1);
        EXPECT_TRUE(std::isfinite(moments.variance)) << mechanism->id();
        EXPECT_GT(moments.variance, 0.0) << mechanism->id();
        EXPECT_TRUE(mechanism->sums_to_one(zero, 0));
        if (size > 1 && name == "privunit") {
          EXPECT_LE(moments.variance, before * (1.0 + 1e-9)) << size << " at " << epsilon;
          before = moments.variance;
        }
      }
    }
  }
}

TEST(VectorMechanisms, AreExactInOneDimension) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 20.0}) {
    for (const std::string_view name : {"ldp-sgd", "privunit"}) {
      const auto mechanism = vector_of(name, epsilon, 1, 0.5);
      expect_exact(*mechanism, spread(*mechanism, 41), epsilon);
    }
  }
}

/// Two values only, e^epsilon apart, for every report and every pair of opposite inputs.
TEST(LdpSgd, HasTwoLikelihoods) {
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
    for (const double epsilon : {0.01, 1.0, 5.0, 20.0}) {
      const auto mechanism = vector_of("ldp-sgd", epsilon, size, 2.0);
      const double guaranteed = mechanism->guarantee().epsilon;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        // Beyond the ball, so that the projection's coin is certain.
        const auto x = random_vector(size, 2.5, seed);
        std::vector<float> opposite;
        for (const float value : x) opposite.push_back(-value);
        const auto report = drawn(*mechanism, x, seed);
        std::vector<Symbol> mirrored;
        for (const Symbol symbol : report) mirrored.push_back(-symbol);
        const double here = mechanism->log_prob(report, x);
        const double there = mechanism->log_prob(report, opposite);
        EXPECT_NEAR(std::abs(here - there), guaranteed, 1e-12);
        EXPECT_NEAR(std::exp(here) + std::exp(there), 1.0, 1e-12);
        EXPECT_EQ(mechanism->log_prob(mirrored, x), there);
      }
      std::vector<Symbol> across(size, 0);
      across[1] = 4096;
      EXPECT_EQ(mechanism->log_prob(across, axis(size, 2.0F)), std::log(0.5));
    }
  }
}

TEST(LdpSgd, LiesOnTheRightSideAsOftenAsItSays) {
  for (const std::size_t size : {std::size_t{2}, std::size_t{7}}) {
    const auto mechanism = vector_of("ldp-sgd", 1.5, size);
    for (const double length : {0.0, 0.4, 1.5}) {
      const int reports = length > 1.0 ? 20'000 : 5'000;
      const auto x = random_vector(size, length, 5);
      double right = 0.0;
      for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(reports); ++seed) {
        const auto report = drawn(*mechanism, x, seed);
        double side = 0.0;
        for (std::size_t i = 0; i < size; ++i) side += static_cast<double>(report[i]) * x[i];
        right += side > 0.0 ? 1.0 : side == 0.0 ? 0.5 : 0.0;
      }
      const double share = std::min(length, 1.0);
      const double expected = 0.5 + share * 0.5 * std::tanh(0.75);
      // 4.9 standard deviations, a false alarm of 1e-6: where the projection is certain, it finds a
      // coin that is off by 0.013.
      EXPECT_NEAR(right / reports, expected, 4.9 * std::sqrt(expected * (1.0 - expected) / reports))
          << length;
    }
  }
}

/// The largest log-ratio of the model "draw k, answer k or -k by the side on which k lies, turned
/// by a coin", over directions of a small lattice whose distribution is not symmetric and may lean
/// towards x.
double enumerated_epsilon(bool (*behind)(double), double tie, double right, double leak = 0.0) {
  double largest = 0.0;
  for (int cell = 0; cell < 49; ++cell) {
    const int a = cell % 7 - 3, b = cell / 7 - 3;
    double least = 1e300, most = 0.0;
    for (int angle = 0; angle < 48; ++angle) {
      const double x = std::cos(angle * std::numbers::pi / 24.0);
      const double y = angle % 24 == 0 ? 0.0 : std::sin(angle * std::numbers::pi / 24.0);
      const auto probability_drawn = [&](int i, int j) {
        return 1.0 + 0.2 * i + 0.1 * j * j + 0.03 * i * j +
               leak * (i * x + j * y) * (i * x + j * y);
      };
      const auto probability_kept = [&](double side) {
        const double front = side == 0.0 ? tie : (behind(side) ? 0.0 : 1.0);
        return front * right + (1.0 - front) * (1.0 - right);
      };
      const double side = a * x + b * y;
      const double p = probability_drawn(a, b) * probability_kept(side) +
                       probability_drawn(-a, -b) * (1.0 - probability_kept(-side));
      least = std::min(least, p);
      most = std::max(most, p);
    }
    largest = std::max(largest, std::log(most / least));
  }
  return largest;
}

TEST(LdpSgd, OwesItsEpsilonToTheCoinAlone) {
  const double right = std::exp(1.0) / (1.0 + std::exp(1.0));
  const auto odd = [](double side) { return side < 0.0; };
  EXPECT_NEAR(enumerated_epsilon(odd, 0.5, right), 1.0, 1e-12);
  // A test that leans to one side and ties that count as the front bias the answer and no more.
  const auto leaning = [](double side) { return side < 0.7; };
  EXPECT_LE(enumerated_epsilon(leaning, 0.5, right), 1.0 + 1e-12);
  EXPECT_LE(enumerated_epsilon(odd, 1.0, right), 1.0 + 1e-12);
  // Planted: a coin that is a little too honest, and directions that know x.
  EXPECT_GT(enumerated_epsilon(odd, 0.5, right + 0.001), 1.001);
  EXPECT_GT(enumerated_epsilon(odd, 0.5, right, 0.01), 1.01);
}

/// Simulates reports of x and tests every coordinate's mean, the mean along x, and the squared
/// error against moments(). False alarm 1e-6 for each test (4.9 standard deviations, 6.1 for the
/// largest of a thousand coordinates).
void expect_unbiased(const Mechanism& mechanism, const std::vector<float>& x, int reports) {
  const std::size_t size = x.size();
  std::vector<double> sum(size, 0.0);
  double error_sum = 0.0, error_squares = 0.0, along_sum = 0.0, along_squares = 0.0;
  for (int seed = 0; seed < reports; ++seed) {
    const auto report = drawn(mechanism, x, static_cast<std::uint64_t>(seed));
    double error = 0.0, along = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const double value = decoded(mechanism, report[i], i);
      sum[i] += value;
      const double off = value - static_cast<double>(x[i]);
      error += off * off;
      along += off * static_cast<double>(x[i]);
    }
    error_sum += error;
    error_squares += error * error;
    along_sum += along;
    along_squares += along * along;
  }
  const double n = reports;
  for (std::size_t i = 0; i < size; ++i) {
    const Moments moments = mechanism.moments(x, i);
    EXPECT_NEAR(sum[i] / n, moments.mean, 6.1 * std::sqrt(moments.variance / n))
        << mechanism.id() << " coordinate " << i << " of " << size;
    EXPECT_EQ(moments.bias, 0.0);
  }
  EXPECT_LT(std::abs(along_sum / n), 4.9 * std::sqrt(along_squares) / n + 1e-6) << mechanism.id();
  const double mean_error = error_sum / n;
  const double spread = std::sqrt(std::max(0.0, error_squares / n - mean_error * mean_error) / n);
  const double expected = squared_error(mechanism, x);
  EXPECT_NEAR(mean_error, expected, 4.9 * spread + 2e-5 * expected)
      << mechanism.id() << " of " << size;
}

TEST(VectorMechanisms, AreUnbiased) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{10}, std::size_t{1000}}) {
    const int reports = size == 1000 ? 1000 : 4000;
    for (const double epsilon : {1.0, 4.0}) {
      for (const std::string_view name : {"ldp-sgd", "privunit", "gaussian"}) {
        const auto mechanism = vector_of(name, epsilon, size, 2.0);
        expect_unbiased(*mechanism, random_vector(size, 1.4, size), reports);
      }
    }
    expect_unbiased(*vector_of("privunit", 6.0, size), axis(size, 0.99F), reports);
    expect_unbiased(*vector_of("privunit", 2.0, size), std::vector<float>(size, 0.0F), reports);
  }
}

/// P(t >= threshold) for one coordinate of a uniform direction, from Boost's incomplete beta.
double boost_tail(std::size_t size, double threshold) {
  const double half = (static_cast<double>(size) - 1.0) / 2.0;
  if (threshold >= 1.0) return 0.0;
  if (threshold <= -1.0) return 1.0;
  const double two_sided = boost::math::ibetac(0.5, half, threshold * threshold);
  return threshold >= 0.0 ? two_sided / 2.0 : 1.0 - two_sided / 2.0;
}

/// The best cap by a search of its own: squared error for a unit vector, gamma, p, q.
struct BestCap {
  double error = 1e300, gamma = 0.0, p = 0.0, q = 0.0;
};
BestCap best_cap(std::size_t size, double epsilon) {
  BestCap best;
  const auto d = static_cast<double>(size);
  const double log_s = std::lgamma(d / 2.0) - std::lgamma((d + 1.0) / 2.0) -
                       std::log(2.0 * std::sqrt(std::numbers::pi));
  for (int step = 0; step < 20'000; ++step) {
    const double gamma = std::min(0.9999, 12.0 / std::sqrt(d)) * step / 20'000.0;
    const double q = boost_tail(size, gamma);
    const double p = std::exp(epsilon) * q / (1.0 - q + std::exp(epsilon) * q);
    const double s = std::exp(log_s + (d - 1.0) / 2.0 * std::log1p(-gamma * gamma));
    const double m = p * s / q - (1.0 - p) * s / (1.0 - q);
    const double error = 1.0 / (m * m) - 1.0;
    if (error < best.error) best = {error, gamma, p, q};
  }
  return best;
}

TEST(PrivUnit, FindsTheBestCap) {
  for (const std::size_t size :
       {std::size_t{2}, std::size_t{3}, std::size_t{10}, std::size_t{5000}}) {
    for (const double epsilon : {0.1, 1.0, 5.0, 12.0}) {
      const auto mechanism = vector_of("privunit", epsilon, size);
      const double lattice = std::pow(decoded(*mechanism, 1), 2) / 12.0 * static_cast<double>(size);
      const double ours = squared_error(*mechanism, axis(size)) - lattice;
      EXPECT_NEAR(ours / best_cap(size, epsilon).error, 1.0, 2e-5) << size << " at " << epsilon;
    }
  }
}

/// For x on the first axis the first symbol is 16 sqrt(d) t, rounded: its distribution is known.
double first_symbol_p(std::size_t size, double epsilon, const BestCap& cap, double caution = 1.0,
                      std::uint64_t reports = 6'000) {
  const auto made_mechanism = make_privunit(Domain{flat_layout(size), {Range{0.0, 1.0}}},
                                            {{"epsilon", epsilon}, {"norm", 1.0}}, caution);
  EXPECT_TRUE(made_mechanism);
  const auto& mechanism = *made_mechanism;
  const double reach = 16.0 * std::sqrt(static_cast<double>(size));
  const auto above = [&](double symbol) {  // P(first symbol > symbol - 1/2)
    const double threshold = (symbol - 0.5) / reach;
    const double tail = boost_tail(size, threshold);
    return threshold >= cap.gamma ? cap.p * tail / cap.q
                                  : cap.p + (1.0 - cap.p) * (tail - cap.q) / (1.0 - cap.q);
  };
  std::map<Symbol, double> log_probs;
  for (const Symbol symbol : mechanism->alphabet(0)) {
    const auto s = static_cast<double>(symbol);
    const double p = (symbol == mechanism->smallest_symbol() ? 1.0 : above(s)) -
                     (symbol == mechanism->largest_symbol() ? 0.0 : above(s + 1.0));
    log_probs[symbol] = std::log(std::max(p, 0.0));
  }
  std::map<Symbol, std::uint64_t> counts;
  for (std::uint64_t seed = 0; seed < reports; ++seed) {
    // Longer than the norm: bound() leaves 1 - 2^-20 of it, so plus comes but for one in 2^21.
    ++counts[drawn(*mechanism, axis(size, 2.0F), seed)[0]];
  }
  return chi_square_p(counts, log_probs, reports);
}

TEST(PrivUnit, DrawsTheCapAndTheRestByTheirDistributions) {
  for (const std::size_t size :
       {std::size_t{2}, std::size_t{3}, std::size_t{20}, std::size_t{500}}) {
    for (const double epsilon : {0.5, 4.0, 9.0}) {
      const BestCap cap = best_cap(size, epsilon);
      EXPECT_GT(first_symbol_p(size, epsilon, cap), 1e-6) << size << " at " << epsilon;
    }
  }
  // Planted: a cap that is met a little too often, a cap of another size.
  BestCap cap = best_cap(20, 4.0);
  cap.p *= 0.9;
  EXPECT_LT(first_symbol_p(20, 4.0, cap), 1e-6);
  cap = best_cap(20, 4.0);
  cap.gamma *= 0.8;
  cap.q = boost_tail(20, cap.gamma);
  EXPECT_LT(first_symbol_p(20, 4.0, cap), 1e-6);
}

/// The same when every report takes the path of real arithmetic, which has further random bits.
/// 1,500 reports find a cell of probability p that is off by 6 sqrt(p / 1,500).
TEST(PrivUnit, DrawsByTheSameDistributionsInRealArithmetic) {
  constexpr double kAlways = std::numeric_limits<double>::infinity();
  for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{10}}) {
    const BestCap cap = best_cap(size, 3.0);
    EXPECT_GT(first_symbol_p(size, 3.0, cap, kAlways, 1'500), 1e-6) << size;
  }
  BestCap planted = best_cap(3, 3.0);
  planted.p *= 0.8;
  EXPECT_LT(first_symbol_p(3, 3.0, planted, kAlways, 1'500), 1e-6);
}

TEST(PrivUnit, LogProbIsThatOfCapAndRest) {
  const auto mechanism = vector_of("privunit", 3.0, 100);
  const BestCap cap = best_cap(100, 3.0);
  int inside = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto x = axis(100, 1.0F);
    const auto report = drawn(*mechanism, x, seed);
    const double log_prob = mechanism->log_prob(report, x);
    const bool in_cap = static_cast<double>(report[0]) / 160.0 >= cap.gamma;
    inside += in_cap ? 1 : 0;
    const double expected =
        in_cap ? std::log(cap.p / cap.q) : std::log((1.0 - cap.p) / (1.0 - cap.q));
    EXPECT_NEAR(log_prob, expected, 1e-3);
  }
  EXPECT_GT(inside, 100);
}

/// The arithmetic of privunit's sampler beside the same in long double: the error of a coordinate
/// in units of 1 / sqrt d, averaged, for more coordinates than privunit_test.cpp can afford.
TEST(PrivUnit, KeepsItsErrorBudget) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{1024}, std::size_t{131'072}}) {
    BitSource bits = BitSource::from_seed(size, "budget");
    const auto x = random_vector(size, 1.0, 3);
    std::vector<std::uint64_t> words(size);
    for (std::uint64_t& word : words) word = bits.next_u64();
    std::vector<double> noise(size);
    normals(words.data(), size / 2, noise.data());
    const double psi = 3.0 / std::sqrt(static_cast<double>(size));
    const double root = std::sqrt(static_cast<double>(size));
    WideSum squares, products, inputs;
    for (std::size_t first = 0; first < size; first += 4096) {
      const std::size_t count = std::min<std::size_t>(4096, size - first);
      squares.add(dot(noise.data() + first, noise.data() + first, count));
      products.add(dot(noise.data() + first, x.data() + first, count));
      inputs.add(dot(x.data() + first, x.data() + first, count));
    }
    const double length = std::sqrt(inputs.value());
    const double along = products.value() / length;
    const double a = root * std::cos(psi) / std::sqrt(squares.value() - along * along);
    const double b = (root * std::sin(psi) - a * along) / length;

    std::vector<long double> ideal(size);
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    for (std::size_t i = 0; i < size / 2; ++i) {
      const long double u = (static_cast<long double>(words[i] >> 1) + 0.5L) * 0x1p-63L;
      const long double r = std::sqrt(-2.0L * std::log(u));
      const std::uint64_t word = words[size / 2 + i];
      const long double angle = static_cast<long double>(word & ((kTop >> 2) - 1)) * 0x1p-61L *
                                std::numbers::pi_v<long double> / 4.0L;
      const bool swap = (word & (kTop >> 2)) != 0;
      ideal[i] = r * (swap ? std::sin(angle) : std::cos(angle)) * ((word & kTop) != 0 ? -1 : 1);
      ideal[size / 2 + i] =
          r * (swap ? std::cos(angle) : std::sin(angle)) * ((word & (kTop >> 1)) != 0 ? -1 : 1);
    }
    long double square = 0.0L, product = 0.0L, input = 0.0L;
    for (std::size_t i = 0; i < size; ++i) {
      square += ideal[i] * ideal[i];
      product += ideal[i] * x[i];
      input += static_cast<long double>(x[i]) * x[i];
    }
    const long double wide_length = std::sqrt(input), wide_along = product / wide_length;
    const long double wide_root = std::sqrt(static_cast<long double>(size));
    const auto wide_psi = static_cast<long double>(psi);
    const long double wide_a =
        wide_root * std::cos(wide_psi) / std::sqrt(square - wide_along * wide_along);
    const long double wide_b = (wide_root * std::sin(wide_psi) - wide_a * wide_along) / wide_length;
    double total = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const double ours = noise[i] * a + static_cast<double>(x[i]) * b;
      total += static_cast<double>(std::abs(ours - (wide_a * ideal[i] + wide_b * x[i])));
    }
    EXPECT_LT(total / static_cast<double>(size), 0x1p-47 / 4.0) << size;
    EXPECT_GT(total / static_cast<double>(size), 0x1p-56) << "long double is no better here";
  }
}

TEST(PrivUnit, SaysItsDelta) {
  const BestCap cap = best_cap(1000, 3.0);
  const double expected = 1000.0 * 0x1p-130 * cap.p / cap.q * (1.0 + std::exp(3.0));
  const double delta = vector_of("privunit", 3.0, 1000)->guarantee().delta;
  EXPECT_NEAR(delta / expected, 1.0, 1e-2);
  // 60,000 clients over 300 rounds.
  EXPECT_LT(60'000.0 * 300.0 * vector_of("privunit", 5.0, 8340)->guarantee().delta, 1e-20);
  EXPECT_LT(60'000.0 * 300.0 * vector_of("privunit", 5.0, 2)->guarantee().delta, 1e-15);
  EXPECT_EQ(vector_of("privunit", 5.0, 1000)->symbol_bits(), 8U);
  EXPECT_EQ(vector_of("privunit", 60.0, 1000)->symbol_bits(), 16U);
}

TEST(Gaussian, HasTheAnalyticSigma) {
  // Sensitivity 2; computed with 40 digits.
  const double expected[][3] = {{0.1, 1e-5, 61.4991322639549},
                                {1, 1e-5, 7.46126326963188},
                                {1, 1e-6, 8.44935777865367},
                                {5, 1e-5, 1.78373652990304},
                                {8, 1e-3, 0.960027504960221}};
  for (const auto& [epsilon, delta, sigma] : expected) {
    const auto mechanism = made("gaussian", {{"epsilon", epsilon}, {"delta", delta}}, {0, 1}, 10);
    const std::vector<float> x(10, 0.0F);
    const double ours = std::sqrt(mechanism->moments(x, 3).variance / (1.0 + 1.0 / 3072.0));
    EXPECT_GT(ours, sigma);
    EXPECT_LT(ours, sigma * (1.0 + 1e-5));
    EXPECT_EQ(mechanism->guarantee().epsilon, epsilon);
    EXPECT_EQ(mechanism->guarantee().delta, delta);
  }
}

TEST(Gaussian, HasTheRoundedNormalDistribution) {
  const std::size_t size = 400'000;
  const auto mechanism = vector_of("gaussian", 1.0, size);
  std::map<Symbol, std::uint64_t> counts;
  for (const Symbol symbol : drawn(*mechanism, std::vector<float>(size, 0.0F), 3)) ++counts[symbol];
  std::map<Symbol, double> log_probs;
  const auto above = [](double symbol) {
    return boost::math::erfc((symbol - 0.5) / 16.0 / std::numbers::sqrt2) / 2.0;
  };
  for (const Symbol symbol : mechanism->alphabet(0)) {
    const double magnitude = std::abs(static_cast<double>(symbol));
    log_probs[symbol] = std::log(above(magnitude) - above(magnitude + 1.0));
  }
  // 400,000 draws find a symbol of probability p that is off by 6 sqrt(p / 400,000): 4 % at 0.
  EXPECT_GT(chi_square_p(counts, log_probs, size), 1e-6);
}

TEST(Gaussian, LogProbIsTheNormalDensity) {
  const auto mechanism = vector_of("gaussian", 1.0, 3, 2.0);
  const std::vector<float> x = {0.5F, -1.0F, 0.25F}, other = {0.0F, 0.5F, 0.0F};
  const auto report = drawn(*mechanism, x, 1);
  const double variance = mechanism->moments(x, 0).variance / (1.0 + 1.0 / 3072.0);
  double expected = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double y = decoded(*mechanism, report[i]);
    expected += (std::pow(y - other[i], 2) - std::pow(y - x[i], 2)) / (2.0 * variance);
  }
  EXPECT_NEAR(mechanism->log_prob(report, x) - mechanism->log_prob(report, other), expected, 1e-9);
}

void expect_refused(std::string_view name, const Parameters& parameters, std::string_view said,
                    std::size_t size = 10) {
  const auto mechanism = try_make(name, parameters, {0.0, 1.0}, size);
  ASSERT_FALSE(mechanism) << name;
  EXPECT_EQ(mechanism.error().kind, ErrorKind::kUsage);
  EXPECT_NE(mechanism.error().message.find(said), std::string::npos) << mechanism.error().message;
}

TEST(VectorMechanisms, RefuseBadParameters) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const std::string_view name : {"ldp-sgd", "privunit", "gaussian"}) {
    for (const double epsilon : {0.0, -1.0, nan, infinite, 1001.0}) {
      expect_refused(name, {{"epsilon", epsilon}}, "[1e-09, 1000]");
    }
    Parameters tiny{{"epsilon", 1e-12}};
    if (name == "gaussian") tiny["delta"] = 1e-5;
    expect_refused(name, tiny, "[1e-09, 1000]");
    for (const double norm : {0.0, -1.0, nan, infinite}) {
      Parameters parameters{{"epsilon", 1.0}, {"norm", norm}};
      if (name == "gaussian") parameters["delta"] = 1e-5;
      expect_refused(name, parameters, "(0, 1e+30]");
    }
    expect_refused(name, {}, "needs epsilon");
    Parameters fine{{"epsilon", 1.0}};
    if (name == "gaussian") fine["delta"] = 1e-5;
    expect_refused(name, fine, "1 to 2147483648", 0);
  }
  for (const double delta : {0.0, 1.0, nan, -0.1}) {
    expect_refused("gaussian", {{"epsilon", 1.0}, {"delta", delta}}, "(0, 0.5]");
  }
  expect_refused("gaussian", {{"epsilon", 1.0}}, "needs delta");
  expect_refused("gaussian", {{"epsilon", 20.0}, {"delta", 1e-5}}, "double precision alone", 1000);
}

}  // namespace
}  // namespace sotto
