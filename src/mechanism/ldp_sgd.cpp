// `ldp-sgd`: the client's step of Algorithm 1 of "measuring privacy". A vector x of norm at most L
// goes to the sphere, z = +-L x / |x|; a direction v is drawn uniformly; the answer is
// sgn<z, v> v with probability e^eps / (1 + e^eps) and the opposite otherwise.
//
//   E[answer] = z (e^eps - 1) / (e^eps + 1) E|v_1| / L, so decoding multiplies with
//   L (e^eps + 1) / (e^eps - 1) sqrt(pi) Gamma((d + 1) / 2) / Gamma(d / 2).
//
// Sampled: k = the lattice point of v (4096 sqrt(d) v, rounded), then +-k. Let low be the least
// integer with 2^64 - low <= e^eps low. k does not depend on x, and the last coin turns the sign
// for low of 2^64 words, whatever the side test said, so
//
//   P(y | x) = P(k = y) a + P(k = -y) b with low <= 2^64 a, 2^64 b <= 2^64 - low
//
// and epsilon is exact in integers for every distribution of k and every side test: floats are good
// enough. Only the mean needs more: k is symmetric (normal.h), roundings and sums are odd, a tie is
// decided by a fair coin; then a = b, which is what log_prob() tells, and nothing pulls to one
// side.
#include <cmath>
#include <cstring>

#include "base/exact/exact.h"
#include "base/text.h"
#include "mechanism/value/coin.h"
#include "mechanism/value/constants.h"
#include "mechanism/vector/normal.h"
#include "mechanism/vector/sphere.h"
#include "mechanism/vector/vector.h"

namespace sotto {
namespace {

const exact::Integer& whole() {
  static const exact::Integer two_to_64 = exact::Integer(1) << 64;
  return two_to_64;
}

class LdpSgd final : public VectorMechanism {
 public:
  LdpSgd(Domain domain, const Parameters& parameters)
      : VectorMechanism("ldp-sgd.v1", std::move(domain), parameters),
        low_(0 - largest_threshold(get(parameters, "epsilon"))) {
    const auto d = static_cast<double>(dimension());
    const double side = d == 1.0 ? 1.0 : Sphere(dimension()).inverse_mean();
    // (e^eps + 1) / (e^eps - 1) of the coin that is really thrown.
    const double gain = 0x1p63 / (whole() / 2 - low_).convert_to<double>();
    length_ = norm() * gain * side;
    const double reach = kNormalScale * std::sqrt(d);
    set_lattice(static_cast<Symbol>(d == 1.0 ? kNormalScale
                                             : std::min(32767.0, std::ceil(reach * (1.0 + 1e-6)))),
                length_ / reach);
    set_guarantee(exact_epsilon(), 0.0, get(parameters, "epsilon"),
                  "pure local differential privacy for the whole vector");
  }

  /// A deviate in floats takes a word of 32 bits.
  double random_bytes_per_output() const noexcept override { return 4.0; }
  WorstCase worst_case() const override {
    WorstCase worst;
    worst.epsilon = exact_epsilon();
    worst.input = "a vector of norm " + short_number(norm()) + " on the output's side";
    worst.other_input = "its opposite";
    worst.output = "any vector but one orthogonal to them";
    return worst;
  }

  std::vector<Symbol> alphabet(std::size_t output) const override {
    if (dimension() == 1) return {-kNormalScale, kNormalScale};
    return VectorMechanism::alphabet(output);
  }

  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override {
    const double side = symbols_dot(report, x);
    const exact::Integer plus = exact::Integer(last_plus(norm_of(x))) + 1;
    const exact::Integer likely = side > 0.0 ? plus : exact::Integer(whole() - plus);
    if (side == 0.0) return std::log(0.5);
    const exact::Integer words = likely * (whole() - low_) + (whole() - likely) * low_;
    return exact::log_ratio(words, whole() * whole());
  }

  std::optional<double> log_prob_along(double product, double norm) const override {
    if (product == 0.0) return std::log(0.5);
    const double plus = std::ldexp(static_cast<double>(last_plus(norm)) + 1.0, -64);
    const double likely = product > 0.0 ? plus : 1.0 - plus;
    const double wrong = std::ldexp(static_cast<double>(low_), -64);
    return std::log(likely * (1.0 - wrong) + (1.0 - likely) * wrong);
  }

  Moments moments(std::span<const float> x, std::size_t output) const override {
    const auto d = static_cast<double>(dimension());
    const auto mean = static_cast<double>(x[output]);
    const double lattice = d == 1.0 ? 0.0 : step() * step() / 12.0;
    return {mean, 0.0, length_ * length_ / d + lattice - mean * mean};
  }

  /// Relative to U(y) = (P(k = y) + P(k = -y)) / 2 the distribution above has a density that is a
  /// mean of 2a and 2b: from 2 low / 2^64 on, and at most e^epsilon times that.
  Background background(std::size_t first, std::size_t count) const override {
    const double floor = exact::round_down(exact::Rational(low_, whole() / 2));
    return {guarantee().epsilon, first == 0 && count == outputs() ? floor : 0.0};
  }
  std::vector<Constant> constants() const override {
    return {integer_constant("wrong side", low_), integer_constant("dimension", dimension()),
            integer_constant("largest symbol", largest_symbol()), real_constant("step", step())};
  }

  /// Relative to the distribution of the direction, whose two signs together are one output.
  bool sums_to_one(std::span<const float> /*x*/, std::size_t /*output*/) const override {
    const exact::Integer right = whole() - low_;
    return low_ > 0 && right + low_ == whole();
  }

 private:
  double exact_epsilon() const { return exact::log_ratio_up(whole() - low_, exact::Integer(low_)); }

  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override {
    const StreamKey key(bits);
    Lanes work = lanes(key, threads);
    const auto coin = coins(work);
    auto* const symbols = reinterpret_cast<std::int16_t*>(out.bytes().data());
    std::vector<WideSum> squares(blocks()), input_squares(blocks()), products(blocks());

    // First the direction, not yet of the right length, and the norms.
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block), all = padded(count);
      std::uint32_t* const words = lane.words32();
      std::int16_t* const to = scratch(lane, symbols, block);
      lane.stream.seek(block);
      lane.stream.fill(std::span(words, all));
      lattice_normals(words, all / 2, to);
      if (dimension() == 1) to[0] = (coin[3] & 1) != 0 ? kNormalScale : -kNormalScale;
      std::fill(to + count, to + all, std::int16_t{0});
      const float* const x = input_of(input, block, lane);
      squares[block] = dot(to, to, all);
      input_squares[block] = quick_dot(x, x, all);
      keep(to, symbols, block);
    });

    // Then the lattice point, and on which side of x it lies.
    const double length = std::sqrt(total(squares).value());
    const double reach = kNormalScale * std::sqrt(static_cast<double>(dimension()));
    const auto factor = static_cast<float>(length > 0.0 ? reach / length : 0.0);
    for_blocks(work, [&](Lane& lane, std::size_t block) {
      const std::size_t count = count_of(block), all = padded(count);
      std::int16_t* const at = scratch(lane, symbols, block);
      if (at != symbols + block * kBlock) {
        std::memcpy(at, symbols + block * kBlock, count * sizeof *at);
        std::fill(at + count, at + all, std::int16_t{0});
      }
      rescale(at, all, factor);
      products[block] = quick_dot(at, input_of(input, block, lane), all);
      keep(at, symbols, block);
    });

    const double side = total(products).value();
    const std::uint64_t plus = last_plus(std::sqrt(total(input_squares).value()));
    const bool behind = side == 0.0 ? (coin[2] & 1) != 0 : side < 0.0;
    const bool minus = coin[0] > plus;
    const bool wrong = coin[1] < low_;
    const auto turn = static_cast<std::int16_t>((behind != minus) != wrong ? -1 : 0);
    for_blocks(work, [&](Lane&, std::size_t block) {
      std::int16_t* const at = symbols + block * kBlock;
      for (std::size_t i = 0; i < count_of(block); ++i) {
        at[i] = static_cast<std::int16_t>((at[i] ^ turn) - turn);
      }
    });
  }

  /// Where a block is worked on: in its place, or beside when it must be padded.
  std::int16_t* scratch(Lane& lane, std::int16_t* symbols, std::size_t block) const {
    const std::size_t count = count_of(block);
    if (count == padded(count)) return symbols + block * kBlock;
    return lane.symbols16();
  }
  void keep(const std::int16_t* from, std::int16_t* symbols, std::size_t block) const {
    std::int16_t* const to = symbols + block * kBlock;
    if (from != to) std::memcpy(to, from, count_of(block) * sizeof *to);
  }

  std::uint64_t low_;    // so many of 2^64 words give the wrong side
  double length_ = 0.0;  // of a decoded report
};

constexpr ParameterInfo kParameters[] = {kEpsilon, kNorm};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  SOTTO_CHECK(VectorMechanism::check_size("ldp-sgd", domain));
  return std::make_unique<LdpSgd>(std::move(domain), parameters);
}

}  // namespace

const Registration ldp_sgd_registration = {
    .info = {.name = "ldp-sgd",
             .kind = MechanismKind::kVector,
             .summary = "a random direction on the vector's side, or on the other one",
             .input = "a vector of l2 norm at most L",
             .output = "a vector of fixed length, 16 bits a coordinate",
             .guarantee = "epsilon-LDP for the whole vector",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Duchi, Jordan, Wainwright 2018; Erlingsson et al. 2020, Algorithm 1",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
