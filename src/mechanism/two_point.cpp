// `two-point`: the mechanism of ldp-fl (Algorithm 2). A weight w in [c - r, c + r] becomes one of
// two values, c + rE or c - rE with E = (e^eps + 1) / (e^eps - 1), one bit on the wire.
//
//   P(+ | w) = 1/2 + (w - c) / (2 r E), so E[y] = w and Var[y] = r^2 E^2 - (w - c)^2.
//
// Sampled: P(+ | w) = T(w) / 2^64 with the integer T(w) = 2^63 + floor((w - c) most / r), where
// most is the largest double with 2^63 + most <= e^eps (2^63 - most). |T - 2^63| never exceeds
// most, so the largest ratio of two probabilities is (2^63 + most) / (2^63 - most) <= e^eps, in
// integers; the ends of the range attain it. A weight draws 32 bits and compares them with the
// upper half of T; only when they are equal (one time in 2^32) it draws the lower half.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/two_point.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#include "mechanism/value/channel_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Writes 1 for plus and 0 for minus and tells whether some word met its threshold's upper half.
/// Treats whole vectors only and returns how many weights those are.
std::size_t two_point_kernel(const TwoPointKernel& k, const float* weights,
                             const std::uint32_t* words, std::size_t count, std::int32_t* out,
                             bool& tie) {
  const hn::ScalableTag<double> f64;
  const hn::Rebind<float, decltype(f64)> f32;
  const hn::Rebind<std::int32_t, decltype(f64)> i32;
  const hn::Rebind<std::uint32_t, decltype(f64)> u32;
  const std::size_t lanes = hn::Lanes(f64);
  const auto centre = hn::Set(f64, k.centre);
  const auto slope = hn::Set(f64, k.slope);
  const auto least = hn::Set(f64, -k.most);
  const auto most = hn::Set(f64, k.most);
  const auto sign = hn::Set(u32, 0x80000000U);
  auto any = hn::Zero(i32);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto weight = hn::PromoteTo(f64, hn::LoadU(f32, weights + i));
    const auto offset = hn::Mul(hn::Sub(weight, centre), slope);
    const auto upper = hn::DemoteTo(i32, hn::Floor(hn::Min(hn::Max(offset, least), most)));
    const auto word = hn::BitCast(i32, hn::Xor(hn::LoadU(u32, words + i), sign));
    any = hn::Or(any, hn::VecFromMask(i32, hn::Eq(word, upper)));
    // A comparison that holds is -1, all ones: its highest bit is the symbol.
    const auto plus = hn::VecFromMask(i32, hn::Lt(word, upper));
    hn::StoreU(hn::BitCast(i32, hn::ShiftRight<31>(hn::BitCast(u32, plus))), i32, out + i);
  }
  tie = !hn::AllTrue(i32, hn::Eq(any, hn::Zero(i32)));
  return i;
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

#include "base/exact/exact.h"
#include "base/text.h"
#include "mechanism/value/coin.h"
#include "mechanism/value/constants.h"
#include "mechanism/value/value.h"

namespace sotto {
namespace {

constexpr double kHalf = 0x1p63;

class TwoPointChannel final : public Channel {
 public:
  TwoPointChannel(const Range& range, double epsilon)
      : range_(range), most_(largest_lean(epsilon)), slope_(most_ / range.radius) {}

  Symbol smallest() const noexcept override { return 0; }
  Symbol largest() const noexcept override { return 1; }
  Decoding decoding() const noexcept override {
    const double reach = kHalf / slope_;  // rE
    return {range_.centre - reach, 2.0 * reach};
  }

  WorstCase worst_case() const override {
    const auto half = exact::rational(kHalf);
    const auto most = exact::rational(most_);
    WorstCase worst;
    worst.epsilon = exact::log_ratio_up(half + most, half - most);
    worst.input = short_number(range_.centre + range_.radius);
    worst.other_input = short_number(range_.centre - range_.radius);
    worst.output = short_number(decoded(1));
    worst.values = {static_cast<float>(range_.centre + range_.radius)};
    worst.other_values = {static_cast<float>(range_.centre - range_.radius)};
    return worst;
  }

  unsigned words() const noexcept override { return 1; }

  Symbol draw(float weight, Words words, MoreBits& more) const override {
    const std::uint64_t threshold = threshold_of(weight);
    const auto upper = static_cast<std::uint32_t>(threshold >> 32);
    if (words[0] != upper) return words[0] < upper ? 1 : 0;
    return (more.next_u64() >> 32) < (threshold & 0xFFFFFFFF) ? 1 : 0;
  }

  void draw_block(const BlockDraw& block, std::int32_t* out) const override {
    if (simd_level() == SimdLevel::kScalar) return Channel::draw_block(block, out);
    bool tie = false;
    const std::size_t done = SOTTO_SIMD_CALL(two_point_kernel)(
        numbers(), block.weights.data(), block.words, block.weights.size(), out, tie);
    // After a tie, which comes once in a million blocks, the whole block is drawn anew.
    for (std::size_t i = tie ? 0 : done; i < block.weights.size(); ++i) {
      MoreBits more = block.more(i);
      out[i] = static_cast<std::int32_t>(draw(block.weights[i], block.words_of(i), more));
    }
  }

  ChannelKernel kernel() const override { return numbers(); }

  double log_prob(Symbol symbol, float weight) const override {
    const exact::Integer plus = threshold_of(weight);
    const exact::Integer whole = exact::Integer(1) << 64;
    if (symbol != 0 && symbol != 1) return -std::numeric_limits<double>::infinity();
    return exact::log_ratio(symbol == 1 ? plus : exact::Integer(whole - plus), whole);
  }

  Moments moments(float weight) const override {
    const double plus = std::ldexp(static_cast<double>(threshold_of(weight)), -64);
    const double reach = kHalf / slope_;
    // From the offset and not from `plus`, which has lost the low bits of a small one.
    const double mean = range_.centre + std::floor(offset_of(weight)) / slope_;
    return {mean, mean - static_cast<double>(weight), 4.0 * reach * reach * plus * (1.0 - plus)};
  }

  /// Relative to a fair coin: P(+ | w) is one of (2^63 - most) / 2^64 .. (2^63 + most) / 2^64, and
  /// so is P(- | w), so both densities begin at 2 (2^63 - most) / 2^64.
  Background background() const override {
    const auto half = exact::rational(kHalf);
    return {worst_case().epsilon, exact::round_down((half - exact::rational(most_)) / half)};
  }
  std::vector<Constant> constants() const override {
    return {integer_constant("most", exact::Integer(most_)), real_constant("slope", slope_),
            real_constant("centre", range_.centre)};
  }

  /// There are two symbols, with T and 2^64 - T of 2^64 words, which add up where T is no more.
  bool sums_to_one(float weight) const override {
    const std::uint64_t plus = threshold_of(weight);
    const std::uint64_t minus = 0 - plus;
    return plus != 0 && plus + minus == 0;
  }

 private:
  TwoPointKernel numbers() const { return {range_.centre, slope_ * 0x1p-32, most_ * 0x1p-32}; }
  double offset_of(float weight) const {
    const double offset = (static_cast<double>(weight) - range_.centre) * slope_;
    return std::min(std::max(offset, -most_), most_);
  }
  std::uint64_t threshold_of(float weight) const {
    return (std::uint64_t{1} << 63) +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(offset_of(weight))));
  }

  Range range_;
  double most_;
  double slope_;
};

constexpr ParameterInfo kParameters[] = {kEpsilon};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  const double epsilon = get(parameters, "epsilon");
  return ValueMechanism::make("two-point.v1", std::move(domain), parameters, epsilon,
                              "pure local differential privacy for each weight",
                              [epsilon](const Range& range, const Parameters&) {
                                return std::make_shared<TwoPointChannel>(range, epsilon);
                              });
}

}  // namespace

const Registration two_point_registration = {
    .info = {.name = "two-point",
             .kind = MechanismKind::kValue,
             .summary = "one of two values beyond the range, one bit a weight",
             .input = "a weight in [c - r, c + r]",
             .output = "c + rE or c - rE, E = (e^eps + 1) / (e^eps - 1)",
             .guarantee = "epsilon-LDP for each weight",
             .unbiased = true,
             .bias = "unbiased",
             .reference = "Sun, Qian, Chen 2021 (LDP-FL), Algorithm 2",
             .published_client_claim = kParameterShuffling,
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
#endif
