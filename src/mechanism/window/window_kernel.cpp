// The vector kernel of the window channel (piecewise, hybrid, optimal): WindowChannel::draw for
// eight weights at once, as far as two random words decide. Where they do not (one weight in 4096)
// the vector is noted, and the caller draws its weights one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanism/window/window_kernel.cpp"
#include "base/simd_targets.h"
// After the targets are chosen:
#include <hwy/highway.h>

#include "mechanism/window/window_kernel.h"

#ifndef SOTTO_WINDOW_SHARED
#define SOTTO_WINDOW_SHARED
namespace sotto {
/// How a lane finds its window.
enum class WindowSearch { kLinear, kPositions, kBuckets };
}  // namespace sotto
#endif

HWY_BEFORE_NAMESPACE();
namespace sotto::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Everything is a double: words, slots and the products of both are integers below 2^53.
template <WindowSearch kSearch, bool kPair>
WindowDone window_loop(const WindowKernel& k, const float* weights, const std::uint32_t* words,
                       std::size_t count, std::int32_t* out, std::uint32_t* open) {
  const hn::ScalableTag<double> f64;
  const hn::RebindToSigned<decltype(f64)> i64;
  const hn::Rebind<float, decltype(f64)> f32;
  const hn::Rebind<std::int32_t, decltype(f64)> i32;
  const hn::Rebind<std::uint32_t, decltype(f64)> u32;
  const std::size_t lanes = hn::Lanes(f64);
  const auto sign = hn::Set(u32, 0x80000000U);
  const auto number = [&](double value) { return hn::Set(f64, value); };
  /// A word minus 2^31.
  const auto centred_word = [&](const std::uint32_t* from) {
    return hn::PromoteTo(f64, hn::BitCast(i32, hn::Xor(hn::LoadU(u32, from), sign)));
  };
  const auto indices = [&](auto whole) { return hn::PromoteTo(i64, hn::DemoteTo(i32, whole)); };

  const auto reach = number(k.reach);
  const auto window = number(k.window);
  const auto slots = number(k.slots);
  const auto inside_below = number(k.inside);
  WindowDone done{0, lanes, 0};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto weight = hn::PromoteTo(f64, hn::LoadU(f32, weights + i));
    const auto rounded = hn::Ceil(hn::Sub(hn::Mul(weight, number(k.scale)), number(k.shift)));
    const auto index = hn::Min(hn::Max(rounded, number(-k.reach)), reach);

    // The window and the fraction of the one after it.
    auto start = hn::Zero(f64);
    auto fraction = hn::Zero(f64);
    if constexpr (kSearch == WindowSearch::kBuckets) {
      const auto bucket = hn::DemoteTo(i32, hn::Mul(hn::Add(index, reach), number(k.bucket_scale)));
      start = hn::PromoteTo(f64, hn::GatherIndex(i32, k.starts, bucket));
      for (int step = 0; step < k.steps; ++step) {
        const auto next = hn::GatherIndex(f64, k.nodes + 1, indices(start));
        start = hn::Add(start, hn::IfThenElseZero(hn::Ge(index, next), number(1.0)));
      }
      const auto at = indices(start);
      const auto beyond = hn::Sub(index, hn::GatherIndex(f64, k.nodes, at));
      fraction =
          hn::Min(hn::Mul(beyond, hn::GatherIndex(f64, k.inverse, at)), number(kLargestFraction));
    } else {
      auto position = hn::Zero(f64);
      if constexpr (kSearch == WindowSearch::kPositions) {
        position = hn::GatherIndex(f64, k.positions, indices(hn::Add(index, reach)));
      } else {
        position = hn::Min(hn::Mul(hn::Add(index, reach), number(k.slope)), number(k.last));
      }
      start = hn::Floor(position);
      fraction = hn::Sub(position, start);
    }
    const auto next_share = hn::Floor(hn::Mul(fraction, number(0x1p20)));

    // The first word: 12 bits of choice, 20 for the fraction.
    const auto first = hn::Add(centred_word(words + i), number(0x1p31));
    const auto choice = hn::Floor(hn::Mul(first, number(0x1p-20)));
    const auto coin = hn::Sub(first, hn::Mul(choice, number(0x1p20)));
    const auto inside = hn::Lt(choice, inside_below);
    auto undecided = hn::Or(hn::Eq(choice, inside_below), hn::Eq(coin, next_share));
    start = hn::Add(start, hn::IfThenElseZero(hn::Lt(coin, next_share), number(1.0)));

    // The second: the whole part of word * slots / 2^32 is the slot, the rest tells a rejection.
    const auto second = centred_word(words + count + i);
    const auto product = hn::Mul(hn::Add(second, number(0x1p31)),
                                 hn::IfThenElse(inside, window, hn::Sub(slots, window)));
    const auto offset = hn::Floor(hn::Mul(product, number(0x1p-32)));
    const auto rest = hn::Sub(product, hn::Mul(offset, number(0x1p32)));
    const auto rejected = hn::IfThenElse(inside, number(k.reject_inside), number(k.reject_outside));
    undecided = hn::Or(undecided, hn::Lt(rest, rejected));
    auto slot = hn::Add(hn::Add(start, offset), hn::IfThenZeroElse(inside, window));
    slot = hn::Sub(slot, hn::IfThenElseZero(hn::Ge(slot, slots), slots));

    if constexpr (kPair) {
      const auto pair_from = number(k.pair_from);
      undecided = hn::Or(undecided, hn::Eq(choice, pair_from));
      const auto most = number(k.pair_most);
      const auto lean = hn::Mul(index, number(k.pair_slope));
      const auto upper = hn::Floor(hn::Min(hn::Max(lean, number(-k.pair_most)), most));
      // Also where the weight is not of the pair: rare and harmless.
      undecided = hn::Or(undecided, hn::Eq(second, upper));
      const auto of_pair = hn::IfThenElse(hn::Lt(second, upper), number(k.pair), number(-k.pair));
      const auto of_slot = hn::Sub(hn::Add(slot, slot), number(k.slots - 1.0));
      slot = hn::IfThenElse(hn::Ge(choice, pair_from), of_pair, of_slot);
    }
    auto symbol = hn::DemoteTo(i32, slot);
    if constexpr (kSearch != WindowSearch::kLinear) {
      symbol = hn::GatherIndex(i32, k.values, symbol);
    } else if constexpr (!kPair) {
      symbol =
          hn::Sub(hn::Add(symbol, symbol), hn::Set(i32, static_cast<std::int32_t>(k.slots) - 1));
    }
    hn::StoreU(symbol, i32, out + i);
    if (HWY_UNLIKELY(!hn::AllFalse(f64, undecided))) {
      open[done.open++] = static_cast<std::uint32_t>(i);
    }
  }
  done.weights = i;
  return done;
}

WindowDone window_kernel(const WindowKernel& k, const float* weights, const std::uint32_t* words,
                         std::size_t count, std::int32_t* out, std::uint32_t* open) {
  constexpr auto kPositions = WindowSearch::kPositions;
  constexpr auto kBuckets = WindowSearch::kBuckets;
  constexpr auto kLinear = WindowSearch::kLinear;
  const auto loop = k.positions != nullptr ? window_loop<kPositions, false>
                    : k.nodes != nullptr   ? window_loop<kBuckets, false>
                    : k.pair != 0.0        ? window_loop<kLinear, true>
                                           : window_loop<kLinear, false>;
  return loop(k, weights, words, count, out, open);
}

}  // namespace sotto::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotto {

WindowDone draw_window(const WindowKernel& kernel, const float* weights, const std::uint32_t* words,
                       std::size_t count, std::int32_t* out, std::uint32_t* open) {
  return SOTTO_SIMD_CALL(window_kernel)(kernel, weights, words, count, out, open);
}

}  // namespace sotto
#endif
