// One record: features -> kept features -> bits -> report.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "client/encode.h"

namespace sotto {

RecordEncoder::RecordEncoder(const EncodePlan& plan)
    : plan_(plan), features_(plan.code.values), words_((plan.code.bits() + 63) / 64) {}

/// The means of groups of neighbours, as even in size as they can be. A fixed rule: to choose
/// features by looking at data would be one more thing that data decides.
void RecordEncoder::keep(std::span<const float> outputs) {
  const std::size_t kept = features_.size();
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t first = i * outputs.size() / kept;
    const std::size_t end = (i + 1) * outputs.size() / kept;
    const auto group = outputs.subspan(first, end - first);
    features_[i] =
        std::accumulate(group.begin(), group.end(), 0.0F) / static_cast<float>(group.size());
  }
}

void RecordEncoder::encode(std::span<const float> outputs, std::span<std::uint8_t> row) {
  keep(outputs);
  BitView(plan_.code, features_).read(0, words_);
  std::memcpy(row.data(), words_.data(), row.size());
}

void RecordEncoder::randomize(std::span<const float> outputs, BitSource& bits,
                              std::span<std::uint8_t> row) {
  keep(outputs);
  const Mechanism& mechanism = *plan_.privacy.bits;
  std::vector<float> values = features_;
  if (mechanism.symbol_bits() != 1) {  // "none" takes the bits themselves
    const BitView view(plan_.code, features_);
    values.resize(plan_.code.bits());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = view[i] ? 1.0F : 0.0F;
  }
  const Bounded bounded =
      bound(Update(mechanism.domain().layout, std::move(values)), mechanism.domain());
  const Report report = mechanism.perturb(bounded, bits);
  const PackedSymbols& symbols = report.symbols();
  if (symbols.bits() == 1) {
    std::memcpy(row.data(), symbols.bytes().data(), row.size());
    return;
  }
  std::ranges::fill(row, std::uint8_t{0});
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] != 0) row[i / 8] |= static_cast<std::uint8_t>(1U << i % 8);
  }
}

std::int32_t RecordEncoder::label(std::int32_t label, BitSource& bits) const {
  if (plan_.privacy.label == nullptr) return label;
  const Mechanism& mechanism = *plan_.privacy.label;
  const Bounded bounded =
      bound(Update(mechanism.domain().layout, {static_cast<float>(label)}), mechanism.domain());
  const Report report = mechanism.perturb(bounded, bits);
  // One bit a class, of which exactly one is set.
  std::int32_t drawn = 0;
  while (report.symbols()[static_cast<std::size_t>(drawn)] == 0) ++drawn;
  return drawn;
}

}  // namespace sotto
