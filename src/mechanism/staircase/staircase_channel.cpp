// The kernel treats 32-bit lanes: grid index in doubles, group by comparisons (up to kLinear
// groups) or by binary search with gathers, place by a 32 x 32 bit product, rank to index without a
// table. What the two words leave open is marked kOpen and drawn anew by draw(), the definition.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/staircase/staircase_channel.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#include "mechanism/staircase/staircase_channel.h"

#ifndef SOTTO_STAIRCASE_SHARED
#define SOTTO_STAIRCASE_SHARED
namespace sotto {
constexpr std::int32_t kLinear = 64;
constexpr std::int32_t kOpen = std::numeric_limits<std::int32_t>::min();
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
/// One lane has no halves to exchange: draw() does it all.
std::size_t staircase_kernel(const StaircaseKernel&, const float*, const std::uint32_t*,
                             std::size_t, std::int32_t*, bool&) {
  return 0;
}
#else

using I32 = hn::ScalableTag<std::int32_t>;
using U32 = hn::RebindToUnsigned<I32>;
using F64 = hn::Repartition<double, I32>;
using VI = hn::Vec<I32>;

/// DecimalGrid::centred for half a vector of weights.
HWY_INLINE auto centred_half(const StaircaseKernel& k, const float* weights) {
  const F64 f64;
  const hn::Rebind<float, F64> f32;
  const hn::Rebind<std::int32_t, F64> i32;
  const auto scaled = hn::Mul(hn::PromoteTo(f64, hn::LoadU(f32, weights)), hn::Set(f64, k.scale));
  const auto offset = hn::Ceil(hn::Sub(scaled, hn::Set(f64, k.shift)));
  const auto reach = hn::Set(f64, static_cast<double>(k.radius));
  return hn::DemoteTo(i32, hn::Min(hn::Max(offset, hn::Neg(reach)), reach));
}

struct Group {
  VI upper;
  VI size;
  VI begin;
};

/// For every word the first group whose upper half it does not exceed.
HWY_INLINE Group few_groups(const StaircaseKernel& k, VI word) {
  const I32 i32;
  Group group{hn::Set(i32, k.upper[0]), hn::Set(i32, k.size[0]), hn::Zero(i32)};
  for (std::size_t j = 1; j < static_cast<std::size_t>(k.groups); ++j) {
    const auto beyond = hn::Gt(word, hn::Set(i32, k.upper[j - 1]));
    group.upper = hn::IfThenElse(beyond, hn::Set(i32, k.upper[j]), group.upper);
    group.size = hn::IfThenElse(beyond, hn::Set(i32, k.size[j]), group.size);
    group.begin = hn::IfThenElse(beyond, hn::Set(i32, k.begin[j]), group.begin);
  }
  return group;
}

HWY_INLINE Group many_groups(const StaircaseKernel& k, VI word) {
  const I32 i32;
  VI at = hn::Zero(i32);
  for (auto step = static_cast<std::int32_t>(k.upper.size() / 2); step > 0; step /= 2) {
    const VI probe = hn::GatherIndex(i32, k.upper.data(), hn::Add(at, hn::Set(i32, step - 1)));
    at = hn::Add(at, hn::IfThenElseZero(hn::Gt(word, probe), hn::Set(i32, step)));
  }
  return {hn::GatherIndex(i32, k.upper.data(), at), hn::GatherIndex(i32, k.size.data(), at),
          hn::GatherIndex(i32, k.begin.data(), at)};
}

/// Writes symbols, or kOpen, and tells whether some are open. Treats whole vectors only and returns
/// how many weights those are.
std::size_t staircase_kernel(const StaircaseKernel& k, const float* weights,
                             const std::uint32_t* words, std::size_t count, std::int32_t* out,
                             bool& open) {
  const I32 i32;
  const U32 u32;
  const hn::Repartition<std::uint64_t, I32> u64;
  const std::size_t lanes = hn::Lanes(i32);
  const VI radius = hn::Set(i32, k.radius);
  const VI one = hn::Set(i32, 1);
  const auto sign = hn::Set(u32, 0x80000000U);
  const bool few = k.groups <= kLinear;
  auto any = hn::Zero(i32);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VI word = hn::BitCast(i32, hn::Xor(hn::LoadU(u32, words + i), sign));
    const Group group = few ? few_groups(k, word) : many_groups(k, word);

    // word 1 times size: products of the even and of the odd lanes, sorted into halves.
    const auto place = hn::LoadU(u32, words + count + i);
    const auto size = hn::BitCast(u32, group.size);
    const auto even = hn::MulEven(place, size);
    const auto odd = hn::MulEven(hn::BitCast(u32, hn::ShiftRight<32>(hn::BitCast(u64, place))),
                                 hn::BitCast(u32, hn::ShiftRight<32>(hn::BitCast(u64, size))));
    const auto high =
        hn::OddEven(hn::BitCast(u32, odd), hn::BitCast(u32, hn::ShiftRight<32>(even)));
    const auto low = hn::OddEven(hn::BitCast(u32, hn::ShiftLeft<32>(odd)), hn::BitCast(u32, even));
    const auto undecided = hn::Or(hn::VecFromMask(i32, hn::Eq(word, group.upper)),
                                  hn::BitCast(i32, hn::VecFromMask(u32, hn::Lt(low, size))));
    any = hn::Or(any, undecided);

    const VI s =
        hn::Combine(i32, centred_half(k, weights + i + lanes / 2), centred_half(k, weights + i));
    const VI rank = hn::Add(group.begin, hn::BitCast(i32, high));
    // DistanceRanks::output: odd ranks lie below the input, even ones above.
    const VI odd_rank = hn::Sub(hn::Zero(i32), hn::And(rank, one));
    const VI distance = hn::ShiftRight<1>(hn::Add(rank, one));
    const VI near = hn::Add(s, hn::Sub(hn::Xor(distance, odd_rank), odd_rank));
    const VI beyond = hn::Sub(rank, radius);
    const VI far = hn::IfThenElse(hn::Lt(s, hn::Zero(i32)), beyond, hn::Neg(beyond));
    const VI shorter = hn::Sub(radius, hn::Abs(s));
    const VI output = hn::IfThenElse(hn::Gt(rank, hn::Add(shorter, shorter)), far, near);
    hn::StoreU(hn::IfThenElse(hn::MaskFromVec(undecided), hn::Set(i32, kOpen), output), i32,
               out + i);
  }
  open = !hn::AllTrue(i32, hn::Eq(any, hn::Zero(i32)));
  return i;
}

#endif  // HWY_SCALAR

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <cmath>

#include "base/text.h"
#include "mechanism/value/constants.h"

namespace sotto {
namespace {

constexpr std::int64_t kMostCounted = 1 << 22;

StaircaseKernel kernel_of(const DecimalGrid& grid, const Staircase& staircase) {
  constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  const std::size_t groups = staircase.groups();
  const std::size_t padded = std::bit_ceil(groups);
  StaircaseKernel kernel{.scale = grid.scale(),
                         .shift = grid.shift(),
                         .radius = static_cast<std::int32_t>(grid.radius()),
                         .groups = static_cast<std::int32_t>(groups),
                         .upper = std::vector<std::int32_t>(padded, kNever),
                         .size = std::vector<std::int32_t>(padded, 1),
                         .begin = std::vector<std::int32_t>(padded, 0)};
  for (std::size_t j = 0; j < groups; ++j) {
    if (j + 1 < groups) {
      const auto upper = static_cast<std::uint32_t>(staircase.thresholds()[j] >> 32);
      kernel.upper[j] = std::bit_cast<std::int32_t>(upper ^ 0x80000000U);
    }
    kernel.size[j] = static_cast<std::int32_t>(staircase.size(j));
    kernel.begin[j] = static_cast<std::int32_t>(staircase.begin(j));
  }
  return kernel;
}

}  // namespace

StaircaseChannel::StaircaseChannel(const DecimalGrid& grid, Staircase staircase, double slope)
    : grid_(grid),
      staircase_(std::move(staircase)),
      slope_(slope),
      epsilon_(staircase_.epsilon()),
      kernel_(kernel_of(grid_, staircase_)) {}

Decoding StaircaseChannel::decoding() const noexcept {
  return {grid_.value(0), grid_.step() / slope_};
}

WorstCase StaircaseChannel::worst_case() const {
  const double low = grid_.value(-grid_.radius());
  const double high = grid_.value(grid_.radius());
  return {epsilon_,
          short_number(low),
          short_number(high),
          short_number(decoded(-grid_.radius())),
          {static_cast<float>(low)},
          {static_cast<float>(high)}};
}

Symbol StaircaseChannel::draw(float weight, Words words, MoreBits& more) const {
  // As if the lower half were all ones: it decides only where the upper half equals a threshold's.
  std::uint64_t bits = std::uint64_t{words[0]} << 32 | 0xFFFFFFFF;
  std::size_t j = staircase_.group_of_bits(bits);
  if (j > 0 && staircase_.thresholds()[j - 1] >> 32 == words[0]) {
    bits = std::uint64_t{words[0]} << 32 | more.next_u64() >> 32;
    j = staircase_.group_of_bits(bits);
  }
  const auto size = static_cast<std::uint32_t>(staircase_.size(j));
  std::uint64_t product = std::uint64_t{words[1]} * size;
  if (static_cast<std::uint32_t>(product) < size) {
    const std::uint32_t rejected = (0U - size) % size;  // 2^32 mod size
    while (static_cast<std::uint32_t>(product) < rejected) {
      product = (more.next_u64() >> 32) * size;
    }
  }
  return ranks_of(weight).output(staircase_.begin(j) + static_cast<std::int64_t>(product >> 32));
}

void StaircaseChannel::draw_block(const BlockDraw& block, std::int32_t* out) const {
  if (simd_level() == SimdLevel::kScalar) return Channel::draw_block(block, out);
  const std::size_t count = block.weights.size();
  bool open = false;
  const std::size_t done = SOTTO_SIMD_CALL(staircase_kernel)(kernel_, block.weights.data(),
                                                             block.words, count, out, open);
  for (std::size_t i = open ? 0 : done; i < count; ++i) {
    if (i < done && out[i] != kOpen) continue;
    MoreBits more = block.more(i);
    out[i] = static_cast<std::int32_t>(draw(block.weights[i], block.words_of(i), more));
  }
}

ChannelKernel StaircaseChannel::kernel() const {
  return StaircaseView{.scale = kernel_.scale,
                       .shift = kernel_.shift,
                       .radius = kernel_.radius,
                       .groups = kernel_.groups,
                       .padded = static_cast<std::int32_t>(kernel_.upper.size()),
                       .upper = kernel_.upper.data(),
                       .size = kernel_.size.data(),
                       .begin = kernel_.begin.data()};
}

double StaircaseChannel::log_prob(Symbol symbol, float weight) const {
  if (symbol < smallest() || symbol > largest()) return -std::numeric_limits<double>::infinity();
  const std::int64_t rank = ranks_of(weight).rank(symbol);
  if (rank >= staircase_.outputs()) return -std::numeric_limits<double>::infinity();
  return staircase_.log_probability(staircase_.group_of_rank(rank));
}

Moments StaircaseChannel::moments(float weight) const {
  const DistanceRanks ranks = ranks_of(weight);
  const auto input = static_cast<double>(ranks.centred);
  const double output = staircase_.mean_output(ranks);
  const double moved = output - input;
  const double spread = std::max(0.0, staircase_.mean_square(ranks) - moved * moved);
  const double step = grid_.step() / slope_;
  const double mean = grid_.value(0) + step * output;
  return {mean, step * (output - slope_ * input), step * step * spread};
}

std::vector<Constant> StaircaseChannel::constants() const {
  std::vector<Constant> all = grid_constants(grid_);
  all.push_back(integer_constant("groups", staircase_.groups()));
  for (std::size_t j = 0; j < staircase_.groups(); ++j) {
    all.push_back(integer_constant("size " + std::to_string(j + 1), staircase_.size(j)));
  }
  for (std::size_t j = 0; j + 1 < staircase_.groups(); ++j) {
    all.push_back(
        integer_constant("threshold " + std::to_string(j + 1), staircase_.thresholds()[j]));
  }
  all.push_back(real_constant("decoding slope", slope_));
  return all;
}

/// All ranks together have 2^64 words, by their differences; the outputs of all ranks must be the
/// grid, each once.
bool StaircaseChannel::sums_to_one(float weight) const {
  exact::Integer words = 0;
  std::int64_t outputs = 0;
  for (std::size_t j = 0; j < staircase_.groups(); ++j) {
    if (staircase_.mass(j) <= 0 || staircase_.size(j) <= 0) return false;
    words += staircase_.mass(j);
    outputs += staircase_.size(j);
  }
  if (words != exact::Integer(1) << 64 || outputs != grid_.size()) return false;
  // Beyond kMostCounted outputs, distinct ranks have distinct outputs by their formula alone.
  if (outputs > kMostCounted) return true;
  const DistanceRanks ranks = ranks_of(weight);
  std::vector<bool> seen(static_cast<std::size_t>(outputs), false);
  for (std::int64_t t = 0; t < outputs; ++t) {
    const std::int64_t index = ranks.output(t) + grid_.radius();
    if (index < 0 || index >= outputs || seen[static_cast<std::size_t>(index)]) return false;
    seen[static_cast<std::size_t>(index)] = true;
  }
  return true;
}

}  // namespace sotto
#endif
