#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/bit/bit_sampler.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#include "mechanism/bit/bit_sampler.h"

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// SlicedSampler::draw on as many lanes as a vector has, up to the four of a group.
const std::uint64_t* draw_sliced(const SlicedSampler::Level* levels, std::uint64_t* group,
                                 const std::uint64_t* random) {
  constexpr std::size_t kGroup = SlicedSampler::kTogether;
  const hn::CappedTag<std::uint64_t, kGroup> u64;
  constexpr std::size_t kLanes = hn::MaxLanes(u64);
  constexpr std::size_t kVectors = kGroup / kLanes;
  using Vec = hn::Vec<decltype(u64)>;
  Vec open[kVectors], bits[kVectors], result[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    bits[v] = hn::LoadU(u64, group + v * kLanes);
    open[v] = hn::Not(hn::Zero(u64));
    result[v] = hn::Zero(u64);
  }
  for (unsigned level = 0; level < SlicedSampler::kLevels; ++level) {
    const Vec zero = hn::Set(u64, levels[level].zero);
    const Vec change = hn::Set(u64, levels[level].change);
    Vec any = hn::Zero(u64);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vec threshold = hn::Xor(zero, hn::And(bits[v], change));
      const Vec differ = hn::Xor(hn::LoadU(u64, random + v * kLanes), threshold);
      result[v] = hn::Or(result[v], hn::And(open[v], hn::And(differ, threshold)));
      open[v] = hn::AndNot(differ, open[v]);
      any = hn::Or(any, open[v]);
    }
    random += kGroup;
    if (hn::AllTrue(u64, hn::Eq(any, hn::Zero(u64)))) break;
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(result[v], u64, group + v * kLanes);
  return random;
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace sotto {
namespace {

const exact::Integer& whole() {
  static const exact::Integer value = exact::Integer(1) << 64;
  return value;
}

}  // namespace

const std::uint64_t* SlicedSampler::draw_fast(std::uint64_t* group,
                                              const std::uint64_t* random) const {
  if (simd_level() == SimdLevel::kScalar || simd_level() == SimdLevel::kBaseline) {
    Bits bits;
    std::copy_n(group, kTogether, bits.begin());
    random = draw(bits, random);
    std::copy_n(bits.begin(), kTogether, group);
    return random;
  }
  return SOTTO_SIMD_CALL(draw_sliced)(levels_.data(), group, random);
}

std::uint64_t nearest_threshold(const exact::Rational& odds) {
  const exact::Rational doubled = exact::Rational(2 * whole()) / (1 + odds);
  const exact::Integer twice =
      boost::multiprecision::numerator(doubled) / boost::multiprecision::denominator(doubled);
  exact::Integer nearest = (twice + 1) / 2;
  if (nearest < 1) nearest = 1;
  if (nearest >= whole()) nearest = whole() - 1;
  return nearest.convert_to<std::uint64_t>();
}

}  // namespace sotto
#endif
