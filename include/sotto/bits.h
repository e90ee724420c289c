// The only source of randomness in Sotto: AES-256 in counter mode (OpenSSL EVP).
//
// Production keys it from the operating system; a simulation keys the *same* generator by hashing a
// seed with a purpose and a path ("train", round 3, client 17), so that every stream is independent
// of every other and of the order in which threads reach it. There is no global generator, and
// nothing in Sotto uses a std::*_distribution: their output differs between standard libraries.
//
// After fork() parent and child hold the same state. What a source of the operating system has
// drawn ahead lies in memory that the kernel clears in the child, which then takes a key of its
// own: the two never give the same bits. A seeded source goes on with its stream in both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace sotto {

class BitSource {
 public:
  /// Keyed by the operating system's generator. Aborts the process if that is not to be had:
  /// a client without randomness must not go on.
  static BitSource from_system();

  /// Keyed by SHA-256(seed, purpose, path): the same arguments give the same bits, always.
  static BitSource from_seed(std::uint64_t seed, std::string_view purpose,
                             std::initializer_list<std::uint64_t> path = {});

  BitSource(BitSource&&) noexcept;
  BitSource& operator=(BitSource&&) noexcept;
  BitSource(const BitSource&) = delete;
  BitSource& operator=(const BitSource&) = delete;
  ~BitSource();

  void fill(std::span<std::byte> out);

  std::uint64_t next_u64() {
    if (block_->left == 0) refill();
    return block_->words[kWords - block_->left--];
  }

  /// Uniform on [0, bound), exactly, by rejection. bound must be positive.
  std::uint64_t below(std::uint64_t bound);

  /// Uniform on the multiples of 2^-53 in [0, 1). For simulation and initialisation; mechanisms
  /// compare integers instead.
  double unit() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

  /// A standard normal deviate (Box-Muller on `unit`). For simulated data and partitions only.
  double normal();

 private:
  using Key = std::array<unsigned char, 32>;
  static constexpr std::size_t kWords = 512;
  /// Bits that were drawn ahead. All zeros, which is what a child finds, means none.
  struct Block {
    std::uint64_t generation;  // of processes, where the operating system gave the key
    std::size_t left;
    std::array<std::uint64_t, kWords> words;
  };
  struct FreeBlock {
    bool mapped;
    FreeBlock() : mapped(false) {}
    explicit FreeBlock(bool is_mapped) : mapped(is_mapped) {}
    void operator()(Block* block) const;
  };
  enum class Origin { kSystem, kSeed };
  BitSource(const Key& key, Origin origin);
  static Key system_key();
  void refill();
  /// Takes a new key where this process is not the one that the key was drawn in.
  void follow_fork();

  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
  std::unique_ptr<Block, FreeBlock> block_;
  Origin origin_;
};

/// Fisher-Yates: every order of `items` equally likely.
template <class T>
void shuffle(std::span<T> items, BitSource& bits) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[bits.below(i)]);
  }
}

}  // namespace sotto
