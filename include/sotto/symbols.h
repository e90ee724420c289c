// Symbols as they travel: integers of one fixed width, side by side.
//
// A two-point report is one bit a weight and an srr report two bytes, in memory as on the wire:
// what a mechanism writes is what an envelope sends, without another pass. Width 1 holds 0 and 1;
// widths 8, 16, ..., 64 hold signed integers, little-endian, in two's complement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sotto {

/// One output of a mechanism: an integer, always, so that sums are exact in any order.
using Symbol = std::int64_t;

class PackedSymbols {
 public:
  static constexpr bool valid_width(unsigned bits) {
    return bits == 1 || (bits % 8 == 0 && bits >= 8 && bits <= 64);
  }
  static constexpr std::size_t bytes_for(std::size_t count, unsigned bits) {
    return bits == 1 ? (count + 7) / 8 : count * (bits / 8);
  }
  /// The narrowest width whose symbols reach from `smallest` to `largest`.
  static unsigned width_for(Symbol smallest, Symbol largest);

  PackedSymbols() = default;
  /// `count` symbols whose values are yet to be written; unused bits at the end are zero.
  PackedSymbols(std::size_t count, unsigned bits);

  std::size_t size() const noexcept { return count_; }
  unsigned bits() const noexcept { return bits_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::span<std::byte> bytes() noexcept { return bytes_; }

  Symbol operator[](std::size_t i) const;
  std::vector<Symbol> unpacked() const;
  void read(std::size_t first, std::span<Symbol> out) const;
  /// Of width 1, `first` must be a multiple of 8. Blocks that start at multiples of 8 may be
  /// written by several threads.
  void write(std::size_t first, std::span<const std::int32_t> symbols);
  void write(std::size_t first, std::span<const std::int64_t> symbols);
  /// Whether the unused bits of the last byte are zero, as they are in what we write.
  bool padding_is_zero() const;

 private:
  /// Leaves new bytes as they are: every one of them is about to be written.
  struct Allocator : std::allocator<std::byte> {
    template <class U>
    struct rebind {
      using other = Allocator;
    };
    template <class U, class... Args>
    void construct(U* at, Args&&... args) {
      if constexpr (sizeof...(Args) == 0) {
        ::new (static_cast<void*>(at)) U;
      } else {
        ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
      }
    }
  };
  std::size_t count_ = 0;
  unsigned bits_ = 64;
  std::vector<std::byte, Allocator> bytes_;
};

}  // namespace sotto
