#include "sotto/aggregate.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "aggregate/add_bits.h"
#include "aggregate/add_bytes.h"

namespace sotto {
namespace {

/// Symbols are unpacked so many at a time: the piece stays in the nearest cache.
constexpr std::size_t kPiece = 2048;

/// Fewer symbols are added one by one: to find the range that waits for them takes longer.
constexpr std::size_t kLeastTogether = 64;

/// Whether every symbol is in [smallest, largest]. One of largest - s and s - smallest is negative
/// for a symbol outside: the sign bits, joined by OR, tell, without a branch for each symbol. The
/// differences are taken in 64 bits that wrap: a mechanism's bounds are below 2^62 in magnitude, so
/// no difference of a symbol outside comes out with both signs clear.
bool all_within(std::span<const Symbol> symbols, Symbol smallest, Symbol largest) {
  const auto low = static_cast<std::uint64_t>(smallest);
  const auto high = static_cast<std::uint64_t>(largest);
  std::uint64_t signs = 0;
  for (const Symbol symbol : symbols) {
    const auto word = static_cast<std::uint64_t>(symbol);
    signs |= (high - word) | (word - low);
  }
  return (signs >> 63) == 0;
}

/// Calls visit(first, symbols) for one piece after the other until it returns false.
template <class Visit>
bool for_pieces(const PackedSymbols& packed, Visit&& visit) {
  std::array<Symbol, kPiece> piece;
  for (std::size_t first = 0; first < packed.size(); first += kPiece) {
    const std::span<Symbol> part(piece.data(), std::min(kPiece, packed.size() - first));
    packed.read(first, part);
    if (!visit(first, part)) return false;
  }
  return true;
}

}  // namespace

std::uint32_t& Aggregator::waiting_at(std::size_t first, std::size_t size, std::uint32_t most) {
  const auto [it, fresh] = ranges_.try_emplace({first, size}, 0U);
  if (!fresh) {
    if (it->second == most) settle(*it);
    return it->second;
  }
  bool apart = true;
  if (it != ranges_.begin()) {
    const Span& left = std::prev(it)->first;
    apart = left.first + left.second <= first;
  }
  if (const auto next = std::next(it); next != ranges_.end()) {
    apart = apart && next->first.first >= first + size;
  }
  if (apart) return it->second;
  // Cut otherwise than what waits here: ranges that wait never overlap, so each counts for itself.
  ranges_.erase(it);
  settle();
  return ranges_.try_emplace({first, size}, 0U).first->second;
}

void Aggregator::add_bits(const PackedSymbols& bits, std::size_t first) {
  if (waiting_bits_.empty()) waiting_bits_.assign(sums_.size(), 0);
  std::uint32_t& count = waiting_at(first, bits.size(), std::numeric_limits<std::uint8_t>::max());
  const std::span<const std::byte> bytes = bits.bytes();
  std::uint8_t* const waiting = waiting_bits_.data() + first;
  const std::size_t whole = bits.size() / 8;
  add_packed_bits(bytes.first(whole), waiting);
  for (std::size_t i = 8 * whole; i < bits.size(); ++i) {
    waiting[i] = static_cast<std::uint8_t>(waiting[i] + bits[i]);
  }
  ++count;
}

bool Aggregator::add_bytes(const PackedSymbols& symbols, std::size_t first) {
  constexpr std::uint32_t kMost = 1U << 24;  // of -128, whose sum is -2^31
  if (waiting_bytes_.empty()) waiting_bytes_.assign(sums_.size(), 0);
  std::uint32_t& count = waiting_at(first, symbols.size(), kMost);
  if (!add_packed_bytes(symbols.bytes(), static_cast<std::int8_t>(mechanism_->smallest_symbol()),
                        static_cast<std::int8_t>(mechanism_->largest_symbol()),
                        waiting_bytes_.data() + first)) {
    return false;
  }
  ++count;
  return true;
}

void Aggregator::settle(Waiting::value_type& range) const {
  const std::size_t first = range.first.first;
  const std::size_t size = range.first.second;
  const auto move_up = [this, first, size](auto& waiting) {
    if (waiting.empty()) return;
    for (std::size_t i = first; i < first + size; ++i) sums_[i] += waiting[i];
    std::fill_n(waiting.begin() + static_cast<std::ptrdiff_t>(first), size, 0);
  };
  move_up(waiting_bits_);
  move_up(waiting_bytes_);
  for (std::size_t i = first; i < first + size; ++i) counts_[i] += range.second;
  range.second = 0;
}

void Aggregator::settle() const {
  for (Waiting::value_type& range : ranges_) settle(range);
  ranges_.clear();
}

Aggregator::Aggregator(std::shared_ptr<const Mechanism> mechanism, RoundId round)
    : mechanism_(std::move(mechanism)), round_(round) {
  const auto largest =
      std::max({Symbol{1}, mechanism_->largest_symbol(), -mechanism_->smallest_symbol()});
  const auto room = std::numeric_limits<std::int64_t>::max() / largest;
  capacity_ = std::min<std::uint64_t>(static_cast<std::uint64_t>(room),
                                      std::numeric_limits<std::uint32_t>::max());
  const std::size_t size = mechanism_->outputs();
  sums_.assign(size, 0);
  counts_.assign(size, 0);
}

Result<void> Aggregator::accept(const Envelope& envelope) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorKind::kRefused, "envelope refused: " + what);
  };
  if (envelope.round() != round_) {
    return refuse("it is for round " + std::to_string(envelope.round()) + ", this is round " +
                  std::to_string(round_));
  }
  if (envelope.mechanism_id() != mechanism_->id()) {
    return refuse("mechanism '" + envelope.mechanism_id() + "' instead of '" +
                  std::string(mechanism_->id()) + "'");
  }
  const PackedSymbols& symbols = envelope.symbols();
  const std::uint64_t first = envelope.position();
  if (first > sums_.size() || symbols.size() > sums_.size() - first) {
    return refuse("it reaches beyond the model");
  }
  if (symbols.bits() != mechanism_->symbol_bits()) return refuse("symbols of another width");
  const Symbol smallest = mechanism_->smallest_symbol();
  const Symbol largest = mechanism_->largest_symbol();
  // Of single bits every one is a symbol of such a mechanism; bytes are looked at as they are
  // added.
  const bool any_bit = symbols.bits() == 1 && smallest <= 0 && largest >= 1;
  const bool bytes = symbols.bits() == 8 && symbols.size() >= kLeastTogether;
  if (!any_bit && !bytes && !for_pieces(symbols, [&](std::size_t, std::span<const Symbol> part) {
        return all_within(part, smallest, largest);
      })) {
    return refuse("a symbol that the mechanism cannot have drawn");
  }
  std::uint32_t* const counts = counts_.data() + first;
  // No count is above the number of envelopes, so only very many of them need a closer look.
  if (accepted_ >= capacity_) settle();
  if (accepted_ >= capacity_ && *std::max_element(counts, counts + symbols.size()) >= capacity_) {
    return refuse("more reports than exact sums can hold");
  }
  if (bytes && !add_bytes(symbols, first)) {
    return refuse("a symbol that the mechanism cannot have drawn");
  }
  ++accepted_;
  if (bytes) return {};
  if (symbols.bits() == 1) {
    add_bits(symbols, first);
    return {};
  }
  std::int64_t* const sums = sums_.data() + first;
  for_pieces(symbols, [&](std::size_t start, std::span<const Symbol> part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      sums[start + i] += part[i];
      ++counts[start + i];
    }
    return true;
  });
  return {};
}

Result<void> Aggregator::accept(const SummedEnvelope& sum) {
  const auto refuse = [](const std::string& what) {
    return fail(ErrorKind::kRefused, "sum refused: " + what);
  };
  if (sum.round() != round_ || sum.mechanism_id() != mechanism_->id()) {
    return refuse("it is of another round or mechanism");
  }
  const std::uint64_t first = sum.position();
  if (first > sums_.size() || sum.sums().size() > sums_.size() - first) {
    return refuse("it reaches beyond the model");
  }
  if (sum.reports() == 0 || sum.reports() > capacity_) {
    return refuse("more reports than exact sums can hold, or none");
  }
  const auto reports = static_cast<std::int64_t>(sum.reports());
  const std::int64_t smallest = mechanism_->smallest_symbol() * reports;
  const std::int64_t largest = mechanism_->largest_symbol() * reports;
  for (const std::int64_t value : sum.sums()) {
    if (value < smallest || value > largest) {
      return refuse("a sum that so many reports cannot have");
    }
  }
  settle();
  for (std::size_t i = first; i < first + sum.sums().size(); ++i) {
    if (counts_[i] + sum.reports() > capacity_) {
      return refuse("more reports than exact sums can hold");
    }
  }
  accepted_ += sum.reports();
  for (std::size_t i = 0; i < sum.sums().size(); ++i) {
    sums_[first + i] += sum.sums()[i];
    counts_[first + i] += static_cast<std::uint32_t>(sum.reports());
  }
  return {};
}

Result<void> Aggregator::merge(const Aggregator& other) {
  if (other.round_ != round_ || other.mechanism_->id() != mechanism_->id() ||
      other.sums_.size() != sums_.size()) {
    return fail(ErrorKind::kInternal, "aggregators of different rounds cannot be merged");
  }
  settle();
  other.settle();
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (std::uint64_t{counts_[i]} + other.counts_[i] > capacity_) {
      return fail(ErrorKind::kRefused, "more reports than exact sums can hold");
    }
  }
  accepted_ += other.accepted_;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += other.sums_[i];
    counts_[i] += other.counts_[i];
  }
  return {};
}

Result<std::uint32_t> Aggregator::reports() const {
  settle();
  const auto [fewest, most] = std::minmax_element(counts_.begin(), counts_.end());
  if (counts_.empty() || *most == 0) {
    return fail(ErrorKind::kRefused, "no report arrived in round " + std::to_string(round_));
  }
  if (*fewest != *most) {
    return fail(ErrorKind::kRefused, "some weights have " + std::to_string(*fewest) +
                                         " reports and others " + std::to_string(*most));
  }
  return *most;
}

Result<SummedEnvelope> Aggregator::summed() const {
  SOTTO_TRY(const std::uint32_t count, reports());
  return summed(sums_, count);
}

Result<SummedEnvelope> Aggregator::summed(std::vector<std::int64_t> sums,
                                          std::uint64_t reports) const {
  if (sums.size() != sums_.size()) {
    return fail(ErrorKind::kInternal, "sums of another mechanism");
  }
  SummedEnvelope envelope;
  envelope.round_ = round_;
  envelope.mechanism_id_ = std::string(mechanism_->id());
  envelope.sums_ = std::move(sums);
  envelope.reports_ = reports;
  return envelope;
}

Result<Released> Aggregator::release() const {
  SOTTO_CHECK(reports());
  return release_with_gaps();
}

Result<Released> Aggregator::release_with_gaps() const {
  settle();
  const auto fewest = std::min_element(counts_.begin(), counts_.end());
  if (counts_.empty() || *fewest == 0) {
    return fail(ErrorKind::kRefused,
                "some weights have no report in round " + std::to_string(round_));
  }
  std::vector<double> mean(sums_.size());
  for (std::size_t first = 0; first < sums_.size();) {
    std::size_t end = first + 1;
    while (end < sums_.size() && counts_[end] == counts_[first]) ++end;
    mechanism_->decode(std::span(sums_).subspan(first, end - first), counts_[first], first,
                       std::span(mean).subspan(first, end - first));
    first = end;
  }
  return Released(std::move(mean), *fewest);
}

}  // namespace sotto
