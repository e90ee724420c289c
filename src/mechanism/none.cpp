// `none`: the weights themselves, in fixed point. For baselines; its epsilon is infinite.
//
// A weight w in [-1024, 1024] becomes round(w 2^32), which keeps every float of magnitude 2^-8 or
// more to its last bit and smaller ones to 2^-33, and lets two million reports be added without
// overflow. Fixed point and not float, so that the sum does not depend on the order of clients.
#include <bit>
#include <cmath>

#include "mechanism/value/value.h"

namespace sotto {
namespace {

constexpr double kRadius = 1024.0;
constexpr double kScale = 4294967296.0;  // 2^32
constexpr Symbol kLargest = Symbol{1} << 42;

class NoneChannel final : public Channel {
 public:
  Symbol smallest() const noexcept override { return -kLargest; }
  Symbol largest() const noexcept override { return kLargest; }
  Decoding decoding() const noexcept override { return {0.0, 1.0 / kScale}; }
  WorstCase worst_case() const override {
    WorstCase worst;
    worst.input = "any";
    worst.other_input = "any other";
    worst.output = "the input";
    return worst;
  }
  unsigned words() const noexcept override { return 0; }

  Symbol draw(float weight, Words /*words*/, MoreBits& /*more*/) const override {
    return fixed(weight);
  }
  void draw_block_wide(const BlockDraw& block, std::int64_t* out) const override {
    for (std::size_t i = 0; i < block.weights.size(); ++i) out[i] = fixed(block.weights[i]);
  }

  ChannelKernel kernel() const override { return FixedKernel{kScale}; }

  double log_prob(Symbol symbol, float weight) const override {
    return symbol == fixed(weight) ? 0.0 : -std::numeric_limits<double>::infinity();
  }
  Moments moments(float weight) const override {
    const double mean = decoded(fixed(weight));
    return {mean, mean - static_cast<double>(weight), 0.0};
  }
  bool sums_to_one(float /*weight*/) const override { return true; }
  std::vector<Constant> constants() const override { return {}; }

 private:
  /// Below 2^51, adding 1.5 * 2^52 leaves the nearest integer in the low bits of the double: what
  /// llrint gives, without a call for each weight.
  static Symbol fixed(float weight) {
    constexpr double kShift = 0x1.8p52;
    const double shifted = static_cast<double>(weight) * kScale + kShift;
    return std::bit_cast<Symbol>(shifted) - std::bit_cast<Symbol>(kShift);
  }
};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  // Wherever the caller would have clipped, `none` keeps the widest range that its sums can hold.
  for (Range& range : domain.ranges) range = Range{0.0, kRadius};
  return ValueMechanism::make(
      "none.v1", std::move(domain), parameters, std::numeric_limits<double>::infinity(),
      "none: the weights are sent as they are",
      [](const Range&, const Parameters&) { return std::make_shared<NoneChannel>(); });
}

}  // namespace

const Registration none_registration = {
    .info = {.name = "none",
             .kind = MechanismKind::kValue,
             .summary = "sends every weight as it is: no privacy at all",
             .input = "a weight in [-1024, 1024]",
             .output = "the weight, to 2^-32",
             .guarantee = "none: epsilon is infinite",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "the baseline of every system",
             .parameters = {}},
    .make = make};

}  // namespace sotto
