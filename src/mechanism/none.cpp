#include "mechanism/none.h"

#include <bit>

namespace sotto {

Result<std::unique_ptr<Mechanism>> NoneMechanism::make(Domain domain) {
  // Wherever the caller would have clipped, `none` keeps the widest range that its sums can hold.
  for (Range& range : domain.ranges) range = Range{0.0, kRadius};
  return std::unique_ptr<Mechanism>(new NoneMechanism(std::move(domain)));
}

Guarantee NoneMechanism::guarantee() const {
  Guarantee guarantee;
  guarantee.statement = "none: the weights are sent as they are";
  return guarantee;
}

void NoneMechanism::sample(std::span<const float> input, BitSource& /*bits*/,
                           std::span<Symbol> out) const {
  // Below 2^51, adding 1.5 * 2^52 leaves the nearest integer in the low bits of the double: what
  // llrint gives, without a call for each weight.
  constexpr double kShift = 0x1.8p52;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double shifted = static_cast<double>(input[i]) * kScale + kShift;
    out[i] = std::bit_cast<Symbol>(shifted) - std::bit_cast<Symbol>(kShift);
  }
}

void NoneMechanism::decode(std::span<const std::int64_t> sums, std::uint64_t reports,
                           std::size_t /*first*/, std::span<double> mean) const {
  const double scale = kScale * static_cast<double>(reports);
  for (std::size_t i = 0; i < sums.size(); ++i) mean[i] = static_cast<double>(sums[i]) / scale;
}

}  // namespace sotto
