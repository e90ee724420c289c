// `privunit` (Bhowmick et al. 2018; parameters as Asi, Feldman, Talwar 2022): a point of the unit
// sphere that lies in the cap {v : <v, u> >= gamma} around the client's direction u with
// probability p, uniform there, and otherwise uniform on the rest of the sphere.
//
//   q = P(cap) under the uniform distribution; epsilon = ln(p (1 - q) / (q (1 - p))); E[v] = M u
//   with M = p S / q - (1 - p) S / (1 - q), S = E[<v, u>; cap]; decoding divides by M.
//
// p and q are integers over 2^64, and gamma is the real number that q belongs to: it is never
// compared with. The cap is chosen by an integer coin; t = <v, u> is the quantile of a uniform
// number below q or above it; v = t u + sqrt(1 - t^2) w with w uniform and orthogonal to u. The
// report is v rounded to a lattice of step 1 / (16 sqrt d): post-processing of a real vector.
//
// Doubles compute it, together with a bound of their error (privunit_bound.h). A block with a
// coordinate that this bound leaves undecided is computed again with 384 bits (privunit_exact.h),
// from the same random words and what follows them (Ziv's strategy). What is still wrong then has a
// probability tau of about d 2^-130 p/q at most (coupling_of()), and
// P(S | x) <= e^eps P(S | x') + (1 + e^eps) tau is what is guaranteed.
#include "mechanism/privunit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/exact/exact.h"
#include "base/text.h"
#include "mechanism/value/constants.h"
#include "mechanism/vector/privunit_bound.h"
#include "mechanism/vector/privunit_cap.h"
#include "mechanism/vector/privunit_exact.h"
#include "mechanism/vector/sphere.h"
#include "mechanism/vector/vector.h"

namespace sotto {
namespace {

using exact::Integer;
using privunit::Cap;
using privunit::share;
using privunit::whole;

constexpr double kPerUnit = kPrivUnitScale;

std::optional<double> asked_cap(const Parameters& parameters) {
  return has(parameters, "cap") ? std::optional(get(parameters, "cap")) : std::nullopt;
}

class PrivUnit final : public VectorMechanism, public PrivUnitParts {
 public:
  PrivUnit(Domain domain, const Parameters& parameters, double caution)
      : VectorMechanism("privunit.v1", std::move(domain), parameters),
        sphere_(std::max<std::size_t>(dimension(), 2)),
        cap_(privunit::make_cap(dimension(), sphere_, get(parameters, "epsilon"),
                                asked_cap(parameters))),
        coupling_(privunit::coupling_of(dimension(), cap_)),
        caution_(caution) {
    constexpr std::size_t kLarge = 64;  // below, an angle is a small part of a report
    if (dimension() >= kLarge) starts_.emplace(sphere_);
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
    const double slack = (1.0 + std::exp(exact_epsilon())) * (1.0 + 1e-9);
    set_guarantee(exact_epsilon(), std::min(1.0, slack * coupling_), get(parameters, "epsilon"),
                  "(epsilon, delta) local differential privacy for the whole vector: the ideal "
                  "model is pure, delta bounds what finite precision may change");
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

  /// ln of the density relative to the uniform distribution, at the direction that the report is
  /// decoded to; in one dimension, where each of two directions has half of that distribution, ln
  /// of the probability.
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    const double length = norm_of(x);
    return length > 0.0 ? log_density(symbols_dot(report, x) / (length * reach()), length)
                        : log_density(static_cast<double>(report[0]) / reach(), 0.0);
  }
  std::optional<double> log_prob_along(double product, double norm) const override {
    if (!(norm > 0.0)) return std::nullopt;  // a zero vector takes the first axis
    return log_density(product / (norm * reach()), norm);
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

  /// Relative to the uniform distribution the density is p / q in the cap and (1 - p) / (1 - q)
  /// outside, or a mixture of both; rounding to the lattice takes means of it.
  Background background(std::size_t first, std::size_t count) const override {
    const exact::Rational outside(whole() - cap_.p, whole() - cap_.q);
    const double floor = first == 0 && count == outputs() ? exact::round_down(outside) : 0.0;
    return {exact_epsilon(), floor, coupling_};
  }
  Coins coins_of(const StreamKey& key) const override {
    BlockStream stream(key);
    return coins_from(coins(stream));
  }
  Combination plan_of(const Coins& coins, bool is_zero, std::span<const BlockSums> sums,
                      std::span<Uncertainty> off) const override {
    FastVector fast;
    fast.dimension = dimension();
    fast.psi = coins.psi;
    fast.psi_error = coins.psi_error;
    WideSum squares, products;
    for (std::size_t block = 0; block < sums.size(); ++block) {
      squares.add(sums[block].square);
      products.add(sums[block].product);
      const double error = deviate_error(sums[block].radii);
      off[block].flat = error;
      fast.noise.add(sums[block].radii, error, count_of(block));
    }
    fast.square = squares.value();
    fast.length = length_of(sums);
    fast.minus = coins.sign > last_plus(is_zero ? 0.0 : fast.length);
    fast.along = products.value() / fast.length;
    const FastPlan plan = plan_fast(fast);
    for (Uncertainty& block : off) {
      block = {cautious(plan.off.flat * block.flat), cautious(plan.off.of_value),
               cautious(plan.off.of_input)};
    }
    return {dimension() == 1 ? 0.0 : plan.a, plan.b, static_cast<double>(largest_symbol())};
  }
  PackedSymbols symbols_of(std::span<const float> bounded, const StreamKey& key) const override {
    PackedSymbols symbols(dimension(), symbol_bits());
    sample(bounded, key, 1, symbols);
    return symbols;
  }

  std::vector<Constant> constants() const override {
    return {integer_constant("p", cap_.p), integer_constant("q", cap_.q),
            integer_constant("dimension", dimension()),
            integer_constant("largest symbol", largest_symbol()), real_constant("step", step())};
  }

 private:
  double exact_epsilon() const {
    return exact::log_ratio_up(cap_.p * (whole() - cap_.q), cap_.q * (whole() - cap_.p));
  }
  double reach() const { return kPerUnit * std::sqrt(static_cast<double>(dimension())); }
  /// At the direction whose share along x is t.
  double log_density(double t, double length) const {
    const double inside = share(cap_.p) / q_share_;
    const double outside = share(Integer(whole() - cap_.p)) / rest_share_;
    const auto density = [&](double along) { return in_cap(along) ? inside : outside; };
    const double plus = std::ldexp(static_cast<double>(last_plus(length)) + 1.0, -64);
    const double base = dimension() == 1 ? 0.5 : 1.0;
    return std::log(base * (plus * density(t) + (1.0 - plus) * density(-t)));
  }
  bool in_cap(double along) const { return dimension() == 1 ? along > 0.0 : along >= cap_.sine; }

  /// The uniform number of t becomes a tail of the sphere: below the equator or above it.
  template <class Number>
  struct Tail {
    Number probability;
    bool below = false;
  };
  /// `unit` and 1 - `unit` with both their digits; `q` and `rest` are q and 1 - q.
  template <class Number>
  static Tail<Number> tail_of(bool inside, const Number& unit, const Number& other, const Number& q,
                              const Number& rest) {
    if (inside) return {q * unit, false};
    const Number below = rest * unit;
    if (below <= 0.5) return {below, true};
    return {std::min<Number>(q + rest * other, 0.5), false};
  }

  /// psi in doubles, and its error.
  void find_angle(bool inside, std::uint64_t word, FastVector& out) const {
    if (dimension() == 1) {
      out.psi = inside ? std::numbers::pi / 2.0 : -std::numbers::pi / 2.0;
      return;
    }
    const auto unit = [](std::uint64_t bits) {
      return (static_cast<double>(bits >> 1) + 0.5) * 0x1p-63;
    };
    const auto tail = tail_of(inside, unit(word), unit(~word), q_share_, rest_share_);
    const double angle =
        starts_ ? sphere_.angle(tail.probability, *starts_) : sphere_.angle(tail.probability);
    out.psi = tail.below ? -angle : angle;
    out.psi_error =
        angle_error(dimension(), 0x1p-63 * (inside ? q_share_ : rest_share_) / tail.probability);
  }

  /// Sine and cosine of psi, the sine turned for -u.
  RealAngle find_angle_exactly(bool inside, bool minus, const Real& unit) const {
    const Real q = ldexp(Real(cap_.q), -64);
    const auto tail = tail_of<Real>(inside, unit, 1 - unit, q, 1 - q);
    RealAngle angle = exact_angle(dimension(), tail.probability);
    if (tail.below != minus) angle.sine = -angle.sine;
    return angle;
  }

  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override {
    sample(input, StreamKey(bits), threads, out);
  }

  Coins coins_from(const std::array<std::uint64_t, 4>& words) const {
    FastVector fast;
    find_angle(is_inside(words), words[2], fast);
    return {words[0], fast.psi, fast.psi_error};
  }
  bool is_inside(const std::array<std::uint64_t, 4>& words) const { return words[1] < p_; }

  void sample(std::span<const float> input, const StreamKey& key, unsigned threads,
              PackedSymbols& out) const {
    Lanes work = lanes(key, threads);
    const auto words = coins(work);
    const auto noise = std::make_unique_for_overwrite<double[]>(blocks() * kBlock);
    std::vector<BlockSums> sums(blocks());
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block), all = padded(count);
      const float* const x = input_of(input, block, lane);
      double* const to = noise.get() + block * kBlock;
      lane.stream.seek(block);
      lane.stream.fill(std::span(lane.words64(), all));
      sums[block].radii = normals(lane.words64(), all / 2, to);
      std::fill(to + count, to + all, 0.0);
      sums[block].square = dot(to, to, all);
      sums[block].product = dot(to, x, all);
      sums[block].input = dot(x, x, all);
    });
    const bool is_zero = std::all_of(sums.begin(), sums.end(), [](const BlockSums& block) {
      return block.input.value() == 0.0;
    });
    std::vector<float> axis;
    if (is_zero) {  // without a direction of its own, a zero vector takes the first axis
      axis.assign(dimension(), 0.0F);
      axis[0] = 1.0F;
      input = axis;
      sums[0].input.add(1.0);
      sums[0].product = {noise[0], 0.0};
    }
    std::vector<Uncertainty> off(blocks());
    const Combination how = plan_of(coins_from(words), is_zero, sums, off);
    std::vector<unsigned char> sure(blocks(), 1);
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block);
      const bool all_sure =
          combine_surely(how, off[block], noise.get() + block * kBlock,
                         input_of(input, block, lane), padded(count), lane.symbols32());
      sure[block] = all_sure || dimension() == 1 ? 1 : 0;
      out.write(block * kBlock, std::span<const std::int32_t>(lane.symbols32(), count));
    });
    if (std::find(sure.begin(), sure.end(), 0) != sure.end()) {
      const Real unit = uniform_from(words[2], 64, after_coin(work, 2));
      const bool minus = words[0] > last_plus(is_zero ? 0.0 : length_of(sums));
      sample_exactly(input, find_angle_exactly(is_inside(words), minus, unit), sure, work, out);
    }
  }

  static double length_of(std::span<const BlockSums> sums) {
    WideSum all;
    for (const BlockSums& block : sums) all.add(block.input);
    return std::sqrt(all.value());
  }

  double cautious(double bound) const { return caution_ == 0.0 ? 0.0 : caution_ * bound; }

  /// Writes the blocks that are not `sure`, in real arithmetic.
  void sample_exactly(std::span<const float> input, const RealAngle& angle,
                      const std::vector<unsigned char>& sure, Lanes& work,
                      PackedSymbols& out) const {
    std::vector<RealSums> parts(blocks());
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const auto x = input.subspan(block * kBlock, count_of(block));
      parts[block].add(exact_normals(lane.stream, block, x.size()), x);
    });
    RealSums sums;
    for (const RealSums& part : parts) sums.add(part);
    const RealPlan plan = plan_exactly(dimension(), sums, angle);
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      if (sure[block] != 0) return;
      const auto x = input.subspan(block * kBlock, count_of(block));
      const std::span<std::int32_t> symbols(lane.symbols32(), x.size());
      round_exactly(plan, exact_normals(lane.stream, block, x.size()), x, largest_symbol(),
                    symbols);
      out.write(block * kBlock, symbols);
    });
  }

  Sphere sphere_;
  std::optional<AngleTable> starts_;
  Cap cap_;
  double coupling_;  // tau: an upper bound
  double caution_;   // the error bounds are taken so many times
  std::uint64_t p_ = 0;
  double q_share_ = 0.5;
  double rest_share_ = 0.5;
};

/// `sotto account plan --choose-cap` finds the best one behind a shuffler, where a smaller cap
/// stands out less among the reports of others.
constexpr ParameterInfo kParameters[] = {
    kEpsilon,
    kNorm,
    {.name = "cap",
     .low = 0.0,
     .high = 0.5,
     .low_open = true,
     .required = false,
     .meaning = "share of the sphere that the likelier part covers; default: least error"}};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  return make_privunit(std::move(domain), parameters, 1.0);
}

}  // namespace

Result<std::unique_ptr<Mechanism>> make_privunit(Domain domain, const Parameters& parameters,
                                                 double caution) {
  SOTTO_CHECK(VectorMechanism::check_size("privunit", domain));
  if (domain.layout->size() == 1 && asked_cap(parameters).value_or(0.5) != 0.5) {
    return fail(ErrorKind::kUsage,
                "privunit: one coordinate has two directions, each half of the "
                "sphere; valid for 'cap' is 0.5 alone");
  }
  return std::make_unique<PrivUnit>(std::move(domain), parameters, caution);
}

const PrivUnitParts* privunit_parts(const Mechanism& mechanism) {
  return dynamic_cast<const PrivUnitParts*>(&mechanism);
}

const Registration privunit_registration = {
    .info = {.name = "privunit",
             .kind = MechanismKind::kVector,
             .summary = "a point of the sphere, more often near the vector's direction",
             .input = "a vector of l2 norm at most L",
             .output = "a vector of nearly fixed length, 8 or 16 bits a coordinate",
             .guarantee = "(epsilon, delta)-LDP for the whole vector; delta is rounding alone",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Bhowmick et al. 2018; Asi, Feldman, Talwar 2022",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
