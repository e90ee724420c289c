// What the vector mechanisms share: x in R^d of l2 norm at most L becomes d integers of a lattice.
//
// Coordinates are cut into blocks of 4096, each with a random stream of its own, and sums over all
// of them are added block by block in order, so a report does not depend on the number of threads.
// The few coins that concern the whole vector come from a stream beside those of the blocks.
//
// A vector inside the ball is sent to the sphere first, without bias (the projection of ldp-sgd's
// Algorithm 1): z = +-L x / |x|, plus with probability 1/2 + |x| / (2L). No guarantee depends on
// that coin: what follows is private for every z on the sphere, and a mixture of such distributions
// is too.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/random/streams.h"
#include "mechanism/registration.h"
#include "mechanism/vector/vector_kernels.h"
#include "sotto/mechanism.h"

namespace sotto {

inline constexpr ParameterInfo kNorm{.name = "norm",
                                     .low = 0.0,
                                     .high = 1e30,
                                     .low_open = true,
                                     .default_value = 1.0,
                                     .meaning = "the largest l2 norm; longer vectors are scaled"};

class VectorMechanism : public Mechanism {
 public:
  static constexpr std::size_t kBlock = 4096;

  std::string_view id() const noexcept override { return id_; }
  const Domain& domain() const noexcept override { return domain_; }
  Guarantee guarantee() const override { return guarantee_; }
  std::size_t outputs() const noexcept override { return dimension_; }
  unsigned symbol_bits() const noexcept override { return bits_; }
  /// A deviate in doubles takes a word of 64 bits.
  double random_bytes_per_output() const noexcept override { return 8.0; }
  Symbol smallest_symbol() const noexcept override { return -most_; }
  Symbol largest_symbol() const noexcept override { return most_; }
  std::vector<Symbol> alphabet(std::size_t output) const override;
  void decode(std::span<const std::int64_t> sums, std::uint64_t reports, std::size_t first,
              std::span<double> mean) const override;

  /// An error for a domain without coordinates, or with more than 2^31.
  static Result<void> check_size(std::string_view name, const Domain& domain);

 protected:
  /// Takes L from the parameter "norm"; the shape and ranges of `domain` are replaced.
  VectorMechanism(std::string_view version, Domain domain, const Parameters& parameters);

  std::size_t dimension() const noexcept { return dimension_; }
  double norm() const noexcept { return domain_.norm; }
  double step() const noexcept { return step_; }
  /// Symbols are -most .. most; one of them is worth `step` after decoding.
  void set_lattice(Symbol most, double step);
  void set_guarantee(double exact, double delta, double claimed, std::string statement);

  std::size_t blocks() const noexcept { return (dimension_ + kBlock - 1) / kBlock; }
  std::size_t count_of(std::size_t block) const noexcept {
    return std::min(kBlock, dimension_ - block * kBlock);
  }

  /// What a thread needs for a block.
  struct Lane {
    explicit Lane(const StreamKey& key) : stream(key) {}
    /// Bytes, in which a mechanism keeps the integers that it needs, up to kBlock of them.
    std::uint64_t* words64() { return reinterpret_cast<std::uint64_t*>(words.data()); }
    std::uint32_t* words32() { return reinterpret_cast<std::uint32_t*>(words.data()); }
    std::int32_t* symbols32() { return reinterpret_cast<std::int32_t*>(symbols.data()); }
    std::int16_t* symbols16() { return reinterpret_cast<std::int16_t*>(symbols.data()); }
    BlockStream stream;
    alignas(64) std::array<std::byte, kBlock * 8> words;
    alignas(64) std::array<std::byte, kBlock * 4> symbols;
    alignas(64) std::array<float, kBlock> input;
  };
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  Lanes lanes(const StreamKey& key, unsigned threads) const;
  /// Calls body(lane, block) for every block.
  template <class Body>
  void for_blocks(Lanes& all, Body&& body) const {
    const auto done = parallel_for(static_cast<unsigned>(all.size()), blocks(),
                                   [&](unsigned lane, std::size_t block) -> Result<void> {
                                     body(*all[lane], block);
                                     return {};
                                   });
    static_cast<void>(done);  // no block can fail
  }
  /// The coordinates of a block, padded with zeros to padded(count_of(block)).
  const float* input_of(std::span<const float> x, std::size_t block, Lane& lane) const;

  /// Four words that concern the whole vector.
  static std::array<std::uint64_t, 4> coins(BlockStream& stream);
  static std::array<std::uint64_t, 4> coins(Lanes& all) { return coins(all.front()->stream); }
  /// What follows the word of coin `which`.
  static MoreBits after_coin(Lanes& all, std::size_t which);
  static WideSum total(std::span<const WideSum> sums);
  /// As the sampler of ldp-sgd adds it; so is the next one's sum.
  double norm_of(std::span<const float> x) const;
  /// The last word that the projection counts as plus: P(+) = (last + 1) / 2^64, which is 1/2 for
  /// |x| = 0 and 1 for |x| = L.
  std::uint64_t last_plus(double norm_of_x) const;
  /// The sum of symbol_i x_i for symbols of at most 16 bits.
  double symbols_dot(std::span<const Symbol> symbols, std::span<const float> x) const;

 private:
  std::string id_;
  Domain domain_;
  Guarantee guarantee_;
  std::size_t dimension_ = 0;
  unsigned bits_ = 16;
  Symbol most_ = 0;
  double step_ = 0.0;
};

}  // namespace sotto
