// Opens envelopes, adds their symbols and publishes the mean.
//
// Memory is one 64-bit sum and one small count a coordinate, whatever the number of clients. Sums
// are integers: addition commutes exactly, so neither the order of reports nor the number of
// threads changes a bit of the result. Each thread may fill its own aggregator; merge() joins them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sotto/mechanism.h"
#include "sotto/stages.h"

namespace sotto {

class Aggregator {
 public:
  Aggregator(std::shared_ptr<const Mechanism> mechanism, RoundId round);

  /// Refuses an envelope of another round or mechanism, one that reaches beyond the model, a symbol
  /// that the mechanism cannot have drawn, and a report too many for exact sums.
  Result<void> accept(const Envelope& envelope);

  /// Adds what was summed already, under the same checks.
  Result<void> accept(const SummedEnvelope& sum);

  Result<void> merge(const Aggregator& other);

  /// All that was accepted as one sum, for an aggregator elsewhere. An error if a coordinate has
  /// not as many reports as the others.
  Result<SummedEnvelope> summed() const;
  /// The same for the sums that aggregators of this round and mechanism in other processes hold
  /// together.
  Result<SummedEnvelope> summed(std::vector<std::int64_t> sums, std::uint64_t reports) const;

  /// The mean over the reports. An error if a coordinate has none or not as many as the others.
  Result<Released> release() const;
  /// The same where envelopes were dropped: each coordinate is the mean of those it has, and the
  /// release counts as one of so many reports as the poorest coordinate has.
  Result<Released> release_with_gaps() const;

 private:
  /// The reports that every coordinate has.
  Result<std::uint32_t> reports() const;

  std::shared_ptr<const Mechanism> mechanism_;
  RoundId round_;
  std::uint64_t capacity_;                           // reports that sums can take without overflow
  std::uint64_t accepted_ = 0;                       // envelopes
  using Span = std::pair<std::size_t, std::size_t>;  // first coordinate, and how many
  using Waiting = std::map<Span, std::uint32_t>;
  void add_bits(const PackedSymbols& bits, std::size_t first);
  /// False, and nothing is added, if one of them is no symbol of the mechanism.
  bool add_bytes(const PackedSymbols& symbols, std::size_t first);
  /// The count of a range to which one more report is added now; `most` is what may wait there.
  std::uint32_t& waiting_at(std::size_t first, std::size_t size, std::uint32_t most);
  /// Moves what waits into the sums, of one range or of all; called before they are read.
  void settle(Waiting::value_type& range) const;
  void settle() const;

  mutable std::vector<std::int64_t> sums_;
  mutable std::vector<std::uint32_t> counts_;
  /// Symbols of a bit wait here, one byte a coordinate, and symbols of a byte in 32 bits, with the
  /// ranges that they came for and how often: adding to narrow sums takes an eighth or half of the
  /// memory's time. A range is settled when its sums are full, and not the whole model with it.
  mutable std::vector<std::uint8_t> waiting_bits_;
  mutable std::vector<std::int32_t> waiting_bytes_;
  mutable Waiting ranges_;  // none overlaps another
};

}  // namespace sotto
