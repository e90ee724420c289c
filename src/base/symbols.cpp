#include "sotto/symbols.h"

#include <cstring>
#include <limits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sotto {
namespace {

/// The low bits of eight integers as one byte, the first lowest.
template <class Integer>
unsigned eight_bits(const Integer* from) {
  unsigned byte = 0;
  for (unsigned j = 0; j < 8; ++j) byte |= static_cast<unsigned>(from[j] & 1) << j;
  return byte;
}

#ifdef __SSE2__
template <>
unsigned eight_bits(const std::int32_t* from) {
  const auto quad = [](const std::int32_t* at) {
    const __m128i bits = _mm_slli_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), 31);
    return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(bits)));
  };
  return quad(from) | quad(from + 4) << 4;
}
#endif

template <class Integer>
void write_bits(std::byte* out, std::span<const Integer> symbols) {
  std::size_t i = 0;
  for (; i + 8 <= symbols.size(); i += 8) {
    out[i / 8] = static_cast<std::byte>(eight_bits(symbols.data() + i));
  }
  if (i == symbols.size()) return;
  unsigned last = 0;
  for (std::size_t j = i; j < symbols.size(); ++j) {
    last |= static_cast<unsigned>(symbols[j] & 1) << (j - i);
  }
  out[i / 8] = static_cast<std::byte>(last);
}

/// Whole machine integers of type Wire: the compiler turns the loops into vector code.
template <class Wire, class Integer>
void write_whole(std::byte* out, std::span<const Integer> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto narrow = static_cast<Wire>(symbols[i]);
    std::memcpy(out + i * sizeof(Wire), &narrow, sizeof(Wire));
  }
}

/// The width is known to the compiler: otherwise each symbol is a call of memcpy.
template <std::size_t kWidth, class Integer>
void write_odd(std::byte* out, std::span<const Integer> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto wide = static_cast<std::int64_t>(symbols[i]);
    std::memcpy(out + i * kWidth, &wide, kWidth);
  }
}

template <class Integer>
void write_symbols(std::byte* out, std::span<const Integer> symbols, unsigned bits) {
  switch (bits) {
    case 1:
      return write_bits(out, symbols);
    case 8:
      return write_whole<std::int8_t>(out, symbols);
    case 16:
      return write_whole<std::int16_t>(out, symbols);
    case 24:
      return write_odd<3>(out, symbols);
    case 32:
      return write_whole<std::int32_t>(out, symbols);
    case 40:
      return write_odd<5>(out, symbols);
    case 48:
      return write_odd<6>(out, symbols);
    case 56:
      return write_odd<7>(out, symbols);
    default:
      return write_whole<std::int64_t>(out, symbols);
  }
}

template <class Wire>
void read_whole(const std::byte* from, std::span<Symbol> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Wire narrow;
    std::memcpy(&narrow, from + i * sizeof(Wire), sizeof(Wire));
    out[i] = narrow;  // NOLINT(bugprone-signed-char-misuse): a number, not a character
  }
}

/// Whole words where they do not reach beyond the last symbol: the bytes too many are shifted out.
template <std::size_t kWidth>
void read_odd(const std::byte* from, std::span<Symbol> out) {
  constexpr unsigned kShift = 64 - 8 * kWidth;
  constexpr std::size_t kTail = 8 / kWidth + 1;
  const auto symbol = [](std::uint64_t word) {
    return static_cast<Symbol>(word << kShift) >> kShift;
  };
  std::size_t i = 0;
  for (; i + kTail <= out.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i * kWidth, sizeof word);
    out[i] = symbol(word);
  }
  for (; i < out.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i * kWidth, kWidth);
    out[i] = symbol(word);
  }
}

}  // namespace

unsigned PackedSymbols::width_for(Symbol smallest, Symbol largest) {
  if (smallest >= 0 && largest <= 1) return 1;
  for (unsigned bits = 8; bits < 64; bits += 8) {
    const Symbol end = Symbol{1} << (bits - 1);
    if (smallest >= -end && largest < end) return bits;
  }
  return 64;
}

PackedSymbols::PackedSymbols(std::size_t count, unsigned bits)
    : count_(count), bits_(bits), bytes_(bytes_for(count, bits)) {
  if (bits_ == 1 && !bytes_.empty()) bytes_.back() = std::byte{0};
}

Symbol PackedSymbols::operator[](std::size_t i) const {
  Symbol symbol = 0;
  read(i, {&symbol, 1});
  return symbol;
}

std::vector<Symbol> PackedSymbols::unpacked() const {
  std::vector<Symbol> symbols(count_);
  read(0, symbols);
  return symbols;
}

void PackedSymbols::read(std::size_t first, std::span<Symbol> out) const {
  if (bits_ == 1) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t at = first + i;
      out[i] = std::to_integer<Symbol>(bytes_[at / 8] >> (at % 8)) & 1;
    }
    return;
  }
  const std::byte* const from = bytes_.data() + first * (bits_ / 8);
  switch (bits_) {
    case 8:
      return read_whole<std::int8_t>(from, out);
    case 16:
      return read_whole<std::int16_t>(from, out);
    case 32:
      return read_whole<std::int32_t>(from, out);
    case 64:
      return read_whole<std::int64_t>(from, out);
    case 24:
      return read_odd<3>(from, out);
    case 40:
      return read_odd<5>(from, out);
    case 48:
      return read_odd<6>(from, out);
    default:
      return read_odd<7>(from, out);
  }
}

void PackedSymbols::write(std::size_t first, std::span<const std::int32_t> symbols) {
  write_symbols(bytes_.data() + bytes_for(first, bits_), symbols, bits_);
}

void PackedSymbols::write(std::size_t first, std::span<const std::int64_t> symbols) {
  write_symbols(bytes_.data() + bytes_for(first, bits_), symbols, bits_);
}

bool PackedSymbols::padding_is_zero() const {
  if (bits_ != 1 || count_ % 8 == 0) return true;
  return std::to_integer<unsigned>(bytes_.back()) >> (count_ % 8) == 0;
}

}  // namespace sotto
