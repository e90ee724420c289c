#include "sotto/aggregate.h"

#include <algorithm>
#include <limits>

namespace sotto {
namespace {

/// Whether every symbol is in [-largest, largest]. One of largest - s and largest + s is negative
/// for a symbol outside, and neither can wrap around to positive: so the sign bits, joined by OR,
/// tell, without a branch for each symbol.
bool all_within(std::span<const Symbol> symbols, Symbol largest) {
  const auto limit = static_cast<std::uint64_t>(largest);
  std::uint64_t signs = 0;
  for (const Symbol symbol : symbols) {
    const auto word = static_cast<std::uint64_t>(symbol);
    signs |= (limit - word) | (limit + word);
  }
  return (signs >> 63) == 0;
}

}  // namespace

Aggregator::Aggregator(std::shared_ptr<const Mechanism> mechanism, RoundId round)
    : mechanism_(std::move(mechanism)), round_(round) {
  const auto largest = std::max<Symbol>(1, mechanism_->largest_symbol());
  const auto room = std::numeric_limits<std::int64_t>::max() / largest;
  capacity_ = std::min<std::uint64_t>(static_cast<std::uint64_t>(room),
                                      std::numeric_limits<std::uint32_t>::max());
  const std::size_t size = mechanism_->domain().layout->size();
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
  const std::span<const Symbol> symbols = envelope.symbols();
  const std::uint64_t first = envelope.position();
  if (first > sums_.size() || symbols.size() > sums_.size() - first) {
    return refuse("it reaches beyond the model");
  }
  if (!all_within(symbols, mechanism_->largest_symbol())) {
    return refuse("a symbol that the mechanism cannot have drawn");
  }
  std::uint32_t* const counts = counts_.data() + first;
  // No count is above the number of envelopes, so only very many of them need a closer look.
  if (accepted_ >= capacity_ && *std::max_element(counts, counts + symbols.size()) >= capacity_) {
    return refuse("more reports than exact sums can hold");
  }
  ++accepted_;
  std::int64_t* const sums = sums_.data() + first;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    sums[i] += symbols[i];
    ++counts[i];
  }
  return {};
}

Result<void> Aggregator::merge(const Aggregator& other) {
  if (other.round_ != round_ || other.mechanism_->id() != mechanism_->id() ||
      other.sums_.size() != sums_.size()) {
    return fail(ErrorKind::kInternal, "aggregators of different rounds cannot be merged");
  }
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

Result<Released> Aggregator::release() const {
  const auto [fewest, most] = std::minmax_element(counts_.begin(), counts_.end());
  if (counts_.empty() || *most == 0) {
    return fail(ErrorKind::kRefused, "no report arrived in round " + std::to_string(round_));
  }
  if (*fewest != *most) {
    return fail(ErrorKind::kRefused, "some weights have " + std::to_string(*fewest) +
                                         " reports and others " + std::to_string(*most));
  }
  std::vector<double> mean(sums_.size());
  mechanism_->decode(sums_, *most, 0, mean);
  return Released(std::move(mean), *most);
}

}  // namespace sotto
