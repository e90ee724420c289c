#include "mechanism/window/window.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/exact/exact.h"
#include "base/simd.h"
#include "base/text.h"
#include "mechanism/value/value.h"

namespace sotto {
namespace {

using exact::Integer;
using exact::Rational;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
constexpr std::int64_t kListedRadius = 32767;  // half a megabyte of positions
constexpr std::size_t kFew = 4096;             // buckets at first; more where nodes lie closer
constexpr std::size_t kMany = 65536;           // but not more than these

Integer whole() { return Integer(1) << 64; }
std::uint64_t rejected(std::int64_t count) { return kOne % static_cast<std::uint64_t>(count); }

}  // namespace

WindowChannel::WindowChannel(WindowPlan plan, const DecimalGrid& grid)
    : plan_(std::move(plan)), grid_(grid) {
  const auto radius = static_cast<double>(grid_.radius());
  const std::int64_t windows = plan_.slots - plan_.window;
  const double reach = window_reach(plan_);
  scale_ = radius / reach / grid_.scale();
  kernel_.scale = grid_.scale();
  kernel_.shift = grid_.shift();
  kernel_.reach = radius;
  kernel_.last = static_cast<double>(windows);
  if (grid_.radius() > 0) {
    kernel_.slope = kernel_.last / (2.0 * radius);
    // The last input must have the last window, whichever way the quotient was rounded.
    while (2.0 * radius * kernel_.slope < kernel_.last) {
      kernel_.slope = std::nextafter(kernel_.slope, std::numeric_limits<double>::infinity());
    }
  }
  kernel_.inside = static_cast<double>(plan_.inside >> 52);
  kernel_.pair_from = static_cast<double>((plan_.inside + plan_.outside) >> 52);
  kernel_.slots = plan_.slots;
  kernel_.window = plan_.window;
  kernel_.reject_inside = static_cast<double>(rejected(plan_.window));
  kernel_.reject_outside = static_cast<double>(rejected(windows));
  if (!plan_.values.empty()) make_nodes();
  if (plan_.pair != 0) {
    kernel_.pair = plan_.pair_symbol;
    kernel_.pair_most = plan_.pair_most * 0x1p-32;
    if (grid_.radius() > 0) kernel_.pair_slope = 0x1p31 * reach / (plan_.pair_symbol * radius);
  }
  log_inside_ = exact::log_ratio(plan_.inside, whole() * plan_.window);
  log_outside_ = exact::log_ratio(plan_.outside, whole() * windows);
}

void WindowChannel::make_nodes() {
  const auto radius = static_cast<double>(grid_.radius());
  const auto window = static_cast<std::size_t>(plan_.window);
  const std::size_t last = plan_.values.size() - window;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < window; ++k) sum += plan_.values[k];
  for (std::size_t s = 0; s <= last; ++s) {
    sums_.push_back(static_cast<double>(sum));
    if (s < last) sum += plan_.values[s + window] - plan_.values[s];
  }
  for (const double a : sums_) nodes_.push_back(radius * (a / sums_.back()));
  for (std::size_t s = 0; s < last; ++s) {
    const double gap = nodes_[s + 1] - nodes_[s];
    inverse_.push_back(gap > 0.0 ? 1.0 / gap : 0.0);
  }
  inverse_.push_back(0.0);
  nodes_.push_back(std::numeric_limits<double>::infinity());

  kernel_.node_count = static_cast<std::int32_t>(nodes_.size());
  kernel_.nodes = nodes_.data();
  kernel_.inverse = inverse_.data();
  kernel_.values = plan_.values.data();
  make_buckets();
  if (grid_.radius() > kListedRadius) return;
  // A position has at most 21 + 32 bits: a double holds it.
  for (std::int64_t index = -grid_.radius(); index <= grid_.radius(); ++index) {
    const Position position = position_of(index);
    positions_.push_back(static_cast<double>(position.slot) +
                         static_cast<double>(position.next) * 0x1p-32);
  }
  kernel_.position_count = static_cast<std::int32_t>(positions_.size());
  kernel_.positions = positions_.data();
}

void WindowChannel::make_buckets() {
  const auto radius = static_cast<double>(grid_.radius());
  const std::size_t last = sums_.size() - 1;
  // A bucket starts at the last node that is not above any input in it. More buckets as long as
  // some input is more than one step away from its node.
  for (std::size_t buckets = kFew; buckets <= kMany; buckets *= 2) {
    kernel_.bucket_scale = radius > 0.0 ? static_cast<double>(buckets) / (2.0 * radius) : 0.0;
    starts_.assign(buckets + 2, static_cast<std::int32_t>(last));
    std::size_t filled = 0;
    for (std::size_t s = 1; s <= last; ++s) {
      const auto bucket = static_cast<std::size_t>((nodes_[s] + radius) * kernel_.bucket_scale) + 1;
      while (filled < bucket) starts_[filled++] = static_cast<std::int32_t>(s - 1);
    }
    kernel_.steps = 0;
    for (std::size_t b = 0; b + 1 < starts_.size(); ++b) {
      kernel_.steps = std::max(kernel_.steps, starts_[b + 1] - starts_[b]);
    }
    if (kernel_.steps <= 1) break;
  }
  kernel_.start_count = static_cast<std::int32_t>(starts_.size());
  kernel_.starts = starts_.data();
}

WindowChannel::Position WindowChannel::position_of(std::int64_t index) const {
  const auto x = static_cast<double>(index);
  if (kernel_.nodes == nullptr || kernel_.positions != nullptr) {
    const double position = kernel_.positions != nullptr
                                ? positions_[static_cast<std::size_t>(index + grid_.radius())]
                                : std::min((x + kernel_.reach) * kernel_.slope, kernel_.last);
    const double slot = std::floor(position);
    return {static_cast<std::int64_t>(slot),
            static_cast<std::uint32_t>((position - slot) * 0x1p32)};
  }
  const auto bucket = static_cast<std::size_t>((x + kernel_.reach) * kernel_.bucket_scale);
  auto slot = static_cast<std::size_t>(starts_[bucket]);
  for (int step = 0; step < kernel_.steps; ++step) {
    if (x >= nodes_[slot + 1]) ++slot;
  }
  const double fraction = std::min((x - nodes_[slot]) * inverse_[slot], kLargestFraction);
  return {static_cast<std::int64_t>(slot), static_cast<std::uint32_t>(fraction * 0x1p32)};
}

std::uint64_t WindowChannel::pair_threshold(std::int64_t index) const {
  const double slope = kernel_.pair_slope * 0x1p32;
  const double lean =
      std::clamp(static_cast<double>(index) * slope, -plan_.pair_most, plan_.pair_most);
  return (std::uint64_t{1} << 63) +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(lean)));
}

Symbol WindowChannel::largest() const noexcept {
  return std::max<Symbol>(plan_.values.empty() ? plan_.slots - 1 : plan_.values.back(),
                          plan_.pair_symbol);
}

Symbol WindowChannel::value(std::int64_t slot) const {
  return plan_.values.empty() ? 2 * slot - (plan_.slots - 1)
                              : plan_.values[static_cast<std::size_t>(slot)];
}

WindowChannel::Slots WindowChannel::slots_of(Symbol symbol) const {
  if (plan_.values.empty()) {
    const Symbol twice = symbol + plan_.slots - 1;
    if (twice < 0 || twice % 2 != 0 || twice / 2 >= plan_.slots) return {0, 0};
    return {twice / 2, twice / 2 + 1};
  }
  const auto [from, to] = std::equal_range(plan_.values.begin(), plan_.values.end(), symbol);
  return {from - plan_.values.begin(), to - plan_.values.begin()};
}

std::uint64_t WindowChannel::covered(const Position& position, const Slots& slots) const {
  const std::int64_t at = (position.slot << 32) + position.next;
  const std::int64_t from = std::max(slots.begin << 32, at);
  const std::int64_t to = std::min(slots.end << 32, at + (std::int64_t{plan_.window} << 32));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to - from));
}

WorstCase WindowChannel::worst_case() const {
  WorstCase worst;
  worst.epsilon = 0.0;
  worst.input = worst.other_input = short_number(grid_.value(0));
  worst.output = short_number(decoded(value(0)));
  worst.values = worst.other_values = {static_cast<float>(grid_.value(0))};
  if (grid_.radius() == 0) return worst;
  // The first slot is inside for the lowest input and outside for the highest. Other slots with its
  // value are among the first n, as the second window has a larger sum than the first.
  const std::int64_t windows = plan_.slots - plan_.window;
  worst.epsilon = exact::log_ratio_up(Rational(Integer(plan_.inside) * windows),
                                      Rational(Integer(plan_.outside) * plan_.window));
  worst.input = short_number(grid_.value(-grid_.radius()));
  worst.other_input = short_number(grid_.value(grid_.radius()));
  worst.values = {static_cast<float>(grid_.value(-grid_.radius()))};
  worst.other_values = {static_cast<float>(grid_.value(grid_.radius()))};
  if (plan_.pair == 0) return worst;
  const Integer high = pair_threshold(grid_.radius());
  const Integer low = pair_threshold(-grid_.radius());
  const double plus = exact::log_ratio_up(Rational(high), Rational(low));
  const double minus = exact::log_ratio_up(Rational(whole() - low), Rational(whole() - high));
  if (std::max(plus, minus) <= worst.epsilon) return worst;
  worst.epsilon = std::max(plus, minus);
  if (plus >= minus) {
    std::swap(worst.input, worst.other_input);
    std::swap(worst.values, worst.other_values);
  }
  worst.output = short_number(decoded(plus >= minus ? plan_.pair_symbol : -plan_.pair_symbol));
  return worst;
}

Symbol WindowChannel::draw(float weight, Words words, MoreBits& more) const {
  const std::int64_t index = grid_.centred(weight);
  const std::uint32_t first = words[0];
  const std::uint32_t second = words[1];
  // 64 bits of choice, of which 12 mostly suffice.
  std::uint64_t choice = std::uint64_t{first >> kChoiceShift} << 52;
  const std::uint64_t pair_from = plan_.inside + plan_.outside;
  if (choice >> 52 == plan_.inside >> 52 || (plan_.pair != 0 && choice >> 52 == pair_from >> 52)) {
    choice |= more.next_u64() >> 12;
  }
  if (plan_.pair != 0 && choice >= pair_from) {
    const std::uint64_t threshold = pair_threshold(index);
    std::uint64_t word = std::uint64_t{second} << 32;
    if (second == threshold >> 32) word |= more.next_u64() >> 32;
    return word < threshold ? plan_.pair_symbol : -plan_.pair_symbol;
  }
  const bool inside = choice < plan_.inside;

  // A slot there, by Lemire's multiplication: what rejection leaves is exactly uniform.
  const std::int64_t count = inside ? plan_.window : plan_.slots - plan_.window;
  const std::uint64_t product = second * static_cast<std::uint64_t>(count);
  auto offset = static_cast<std::int64_t>(product >> 32);
  if ((product & 0xFFFFFFFF) < rejected(count)) {
    offset = static_cast<std::int64_t>(more.below(static_cast<std::uint64_t>(count)));
  }

  // This window or the next: 32 bits, of which 20 mostly suffice.
  const Position position = position_of(index);
  std::uint32_t coin = (first & kFractionMask) << 12;
  if (coin >> 12 == position.next >> 12) {
    coin |= static_cast<std::uint32_t>(more.next_u64() >> 52);
  }
  std::int64_t slot = position.slot + (coin < position.next ? 1 : 0) + offset;
  if (!inside) slot += plan_.window;
  if (slot >= plan_.slots) slot -= plan_.slots;
  return value(slot);
}

void WindowChannel::draw_block(const BlockDraw& block, std::int32_t* out) const {
  if (simd_level() == SimdLevel::kScalar) return Channel::draw_block(block, out);
  const auto again = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      MoreBits more = block.more(i);
      out[i] = static_cast<std::int32_t>(draw(block.weights[i], block.words_of(i), more));
    }
  };
  std::array<std::uint32_t, ValueMechanism::kBlock> open;
  const WindowDone done = draw_window(kernel_, block.weights.data(), block.words,
                                      block.weights.size(), out, open.data());
  for (std::size_t v = 0; v < done.open; ++v) again(open[v], open[v] + done.lanes);
  again(done.weights, block.weights.size());
}

double WindowChannel::log_prob(Symbol symbol, float weight) const {
  const std::int64_t index = grid_.centred(weight);
  if (plan_.pair != 0 && (symbol == plan_.pair_symbol || symbol == -plan_.pair_symbol)) {
    const Integer plus = pair_threshold(index);
    const Integer words = symbol > 0 ? plus : Integer(whole() - plus);
    return exact::log_ratio(Rational(words * plan_.pair), Rational(whole() * whole()));
  }
  const Slots slots = slots_of(symbol);
  if (slots.begin == slots.end) return kMinusInfinity;
  const std::uint64_t in = covered(position_of(index), slots);
  const auto all = static_cast<std::uint64_t>(slots.end - slots.begin) << 32;
  if (all == kOne && in == all) return log_inside_;
  if (all == kOne && in == 0) return log_outside_;
  const Integer windows = plan_.slots - plan_.window;
  return exact::log_ratio(Rational(in * (plan_.inside * windows) +
                                   (all - in) * (Integer(plan_.outside) * plan_.window)),
                          Rational((whole() << 32) * windows * plan_.window));
}

double WindowChannel::squares(const Slots& slots, double centre) const {
  if (plan_.values.empty()) {
    const auto count = static_cast<double>(slots.end - slots.begin);
    const double off = static_cast<double>(slots.begin + slots.end - plan_.slots) - centre;
    return count * (off * off + (count * count - 1.0) / 3.0);
  }
  double sum = 0.0;
  for (std::int64_t k = slots.begin; k < slots.end; ++k) {
    const double off = static_cast<double>(value(k)) - centre;
    sum += off * off;
  }
  return sum;
}

Moments WindowChannel::moments(float weight) const {
  const std::int64_t index = grid_.centred(weight);
  if (grid_.radius() == 0) return {grid_.value(0), 0.0, 0.0};
  const Position position = position_of(index);
  const double share = static_cast<double>(position.next) * 0x1p-32;
  const auto at = static_cast<double>(position.slot);
  const auto radius = static_cast<double>(grid_.radius());
  const std::int64_t n = plan_.window;

  // The mean as an index: exact for a whole window, interpolated between two.
  double mean = radius * ((2.0 * (at + share) - kernel_.last) / kernel_.last);
  if (!plan_.values.empty()) {
    const auto s = static_cast<std::size_t>(position.slot);
    const double next = s + 1 < sums_.size() ? sums_[s + 1] : sums_[s];
    mean = radius * ((sums_[s] + share * (next - sums_[s])) / sums_.back());
  }
  const double pair_share = std::ldexp(static_cast<double>(plan_.pair), -64);
  double plus = 0.5;
  if (plan_.pair != 0) {
    const std::uint64_t threshold = pair_threshold(index);
    plus = std::ldexp(static_cast<double>(threshold), -64);
    const auto lean = static_cast<double>(static_cast<std::int64_t>(threshold ^ (1ULL << 63)));
    const double of_pair = lean / (kernel_.pair_slope * 0x1p32);
    mean = (1.0 - pair_share) * mean + pair_share * of_pair;
  }
  const double centre = mean / grid_.scale() / scale_;  // in symbols

  const auto windowed = [&](std::int64_t s) {
    const double inside = std::exp(log_inside_) * squares({s, s + n}, centre);
    return inside + std::exp(log_outside_) *
                        (squares({0, s}, centre) + squares({s + n, plan_.slots}, centre));
  };
  double variance = (1.0 - share) * windowed(position.slot);
  if (position.next != 0) variance += share * windowed(position.slot + 1);
  const double up = static_cast<double>(plan_.pair_symbol) - centre;
  const double down = static_cast<double>(plan_.pair_symbol) + centre;
  variance += pair_share * (plus * up * up + (1.0 - plus) * down * down);
  return {(static_cast<double>(grid_.centre()) + mean) / grid_.scale(),
          (mean - static_cast<double>(index)) / grid_.scale(), variance * scale_ * scale_};
}

/// Goes over all slots: together they must hold the window once, and the masses 2^64.
bool WindowChannel::sums_to_one(float weight) const {
  const Position position = position_of(grid_.centred(weight));
  std::uint64_t in = 0;
  for (std::int64_t k = 0; k < plan_.slots; ++k) in += covered(position, {k, k + 1});
  const Integer masses = Integer(plan_.inside) + plan_.outside + plan_.pair;
  return in == static_cast<std::uint64_t>(plan_.window) << 32 && masses == whole();
}

std::vector<Symbol> WindowChannel::alphabet() const {
  if (static_cast<std::size_t>(plan_.slots) + 2 > Mechanism::kMostListed) return {};
  std::vector<Symbol> all;
  for (std::int64_t k = 0; k < plan_.slots; ++k) {
    if (all.empty() || all.back() != value(k)) all.push_back(value(k));
  }
  if (plan_.pair != 0) {
    all.insert(all.end(), {-plan_.pair_symbol, plan_.pair_symbol});
    std::sort(all.begin(), all.end());
  }
  return all;
}

Result<std::unique_ptr<Mechanism>> make_window_mechanism(std::string_view version, Domain domain,
                                                         const Parameters& parameters,
                                                         const WindowPlan& plan) {
  constexpr std::int64_t kLargestRadius = std::int64_t{1} << 50;
  return ValueMechanism::make(
      version, std::move(domain), parameters, get(parameters, "epsilon"),
      "pure local differential privacy for each weight",
      [&plan](const Range& range,
              const Parameters& given) -> Result<std::shared_ptr<const Channel>> {
        SOTTO_TRY(const DecimalGrid grid,
                  DecimalGrid::make(range, get(given, "precision"), kLargestRadius));
        return std::make_shared<WindowChannel>(plan, grid);
      });
}

}  // namespace sotto
