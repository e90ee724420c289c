// `none`: the weights themselves, in fixed point. For baselines; its epsilon is infinite.
//
// A weight w in [-1024, 1024] becomes round(w 2^32), which keeps every float of magnitude 2^-8 or
// more to its last bit and smaller ones to 2^-33, and lets two million reports be added without
// overflow. Fixed point and not float, so that the sum does not depend on the order of clients.
#pragma once

#include "sotto/mechanism.h"

namespace sotto {

class NoneMechanism final : public Mechanism {
 public:
  static constexpr double kRadius = 1024.0;
  static constexpr double kScale = 4294967296.0;  // 2^32

  static Result<std::unique_ptr<Mechanism>> make(Domain domain);

  std::string_view id() const noexcept override { return "none.v1"; }
  const Domain& domain() const noexcept override { return domain_; }
  Guarantee guarantee() const override;
  unsigned symbol_bytes() const noexcept override { return 6; }
  Symbol largest_symbol() const noexcept override { return Symbol{1} << 42; }
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
              std::span<double> mean) const override;

 private:
  explicit NoneMechanism(Domain domain) : domain_(std::move(domain)) {}
  void sample(std::span<const float> input, BitSource& bits, std::span<Symbol> out) const override;
  Domain domain_;
};

}  // namespace sotto
