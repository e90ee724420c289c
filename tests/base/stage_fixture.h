// A mechanism for the tests of the later stages: its symbols are the values themselves, times a
// factor, so that a test can make any envelope by the proper path.
#pragma once

#include <cmath>

#include "flat_layout.h"
#include "sotto/aggregate.h"
#include "sotto/mechanism.h"

namespace sotto {

class CountingMechanism final : public Mechanism {
 public:
  CountingMechanism(std::size_t size, Symbol largest, Symbol factor = 1, unsigned bits = 64,
                    std::string id = "counting.v1")
      : domain_{flat_layout(size), {Range{0.0, 1e6}}},
        largest_(largest),
        factor_(factor),
        bits_(bits),
        id_(std::move(id)) {}
  std::string_view id() const noexcept override { return id_; }
  const Domain& domain() const noexcept override { return domain_; }
  Guarantee guarantee() const override { return {}; }
  WorstCase worst_case() const override { return {}; }
  std::size_t outputs() const noexcept override { return domain_.layout->size(); }
  unsigned symbol_bits() const noexcept override { return bits_; }
  Symbol smallest_symbol() const noexcept override { return -largest_; }
  Symbol largest_symbol() const noexcept override { return largest_; }
  std::vector<Symbol> alphabet(std::size_t /*output*/) const override { return {}; }
  double log_prob(std::span<const Symbol> /*report*/, std::span<const float> /*x*/) const override {
    return 0.0;
  }
  Moments moments(std::span<const float> /*x*/, std::size_t /*output*/) const override {
    return {};
  }
  bool sums_to_one(std::span<const float> /*x*/, std::size_t /*output*/) const override {
    return true;
  }
  std::vector<Constant> constants() const override { return {}; }
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t /*first*/,
              std::span<double> mean) const override {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      mean[i] = static_cast<double>(sums[i]) / static_cast<double>(reports);
    }
  }

 private:
  void sample(std::span<const float> input, BitSource& /*bits*/, unsigned /*threads*/,
              PackedSymbols& out) const override {
    std::vector<Symbol> symbols;
    for (const float value : input) symbols.push_back(std::llrint(value) * factor_);
    out.write(0, symbols);
  }
  Domain domain_;
  Symbol largest_;
  Symbol factor_;
  unsigned bits_;
  std::string id_;
};

inline std::vector<Envelope> envelopes_of(const Mechanism& mechanism, std::vector<float> values,
                                          RoundId round, std::size_t split = 0) {
  BitSource bits = BitSource::from_seed(1, "test");
  Update update(mechanism.domain().layout, std::move(values));
  return pack(mechanism.perturb(bound(std::move(update), mechanism.domain()), bits), round, split);
}

}  // namespace sotto
