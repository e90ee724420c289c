// A mechanism that treats every weight alone: one channel for each tensor, blocks over threads.
#pragma once

#include <functional>

#include "mechanism/registration.h"
#include "mechanism/value/channel.h"

namespace sotto {

/// Makes the channel of a tensor whose weights lie in `range`.
using MakeChannel =
    std::function<Result<std::shared_ptr<const Channel>>(const Range& range, const Parameters&)>;

class ValueMechanism final : public Mechanism {
 public:
  /// Weights are cut into blocks of so many, counted over the whole vector.
  static constexpr std::size_t kBlock = 4096;

  /// Tensors of equal range share one channel. `claimed` is the epsilon that was asked for one
  /// weight, `statement` what the guarantee says in words, `alpha` that of Guarantee.
  static Result<std::unique_ptr<Mechanism>> make(std::string_view version, Domain domain,
                                                 const Parameters& parameters, double claimed,
                                                 std::string statement, const MakeChannel& make,
                                                 double alpha = 0.0);

  std::string_view id() const noexcept override { return id_; }
  const Domain& domain() const noexcept override { return domain_; }
  Guarantee guarantee() const override { return guarantee_; }
  WorstCase worst_case() const override;
  std::size_t outputs() const noexcept override { return domain_.layout->size(); }
  unsigned symbol_bits() const noexcept override { return bits_; }
  Symbol smallest_symbol() const noexcept override { return smallest_; }
  Symbol largest_symbol() const noexcept override { return largest_; }
  std::vector<Symbol> alphabet(std::size_t output) const override;
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
              std::span<double> mean) const override;
  double log_prob(std::span<const Symbol> report, std::span<const float> x) const override;
  Moments moments(std::span<const float> x, std::size_t output) const override;
  bool sums_to_one(std::span<const float> x, std::size_t output) const override;
  /// Weights are independent, so a chunk's distribution is a product: epsilons add, floors
  /// multiply.
  Background background(std::size_t first, std::size_t count) const override;
  std::vector<Constant> constants() const override;
  double random_bytes_per_output() const noexcept override;
  const Channel& channel_of(std::size_t output) const;

 private:
  ValueMechanism() = default;
  void sample(std::span<const float> input, BitSource& bits, unsigned threads,
              PackedSymbols& out) const override;
  template <class Integer>
  void sample_block(std::span<const float> input, std::size_t block, BlockStream& stream,
                    std::span<std::uint32_t> words, std::span<Integer> symbols,
                    PackedSymbols& out) const;
  std::size_t tensor_of(std::size_t output) const;

  std::string id_;
  Domain domain_;
  Guarantee guarantee_;
  std::vector<std::shared_ptr<const Channel>> channels_;  // one for each tensor
  unsigned bits_ = 64;
  unsigned words_ = 0;  // the most that a channel draws
  bool wide_ = false;
  Symbol smallest_ = 0;
  Symbol largest_ = 0;
};

}  // namespace sotto
