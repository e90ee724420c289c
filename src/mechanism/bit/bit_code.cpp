#include "mechanism/bit/bit_code.h"

#include <algorithm>
#include <array>
#include <cmath>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sotto {
namespace {

constexpr unsigned kWord = 64;

/// The first bit becomes the last one.
std::uint64_t reversed(std::uint64_t word) {
  word = (word >> 1 & 0x5555555555555555) | (word & 0x5555555555555555) << 1;
  word = (word >> 2 & 0x3333333333333333) | (word & 0x3333333333333333) << 2;
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0F) | (word & 0x0F0F0F0F0F0F0F0F) << 4;
  return __builtin_bswap64(word);
}

/// As bound() orders values: the first of the largest ones, anything before NaN.
std::size_t largest_of(std::span<const float> values) {
  std::size_t best = 0;
  while (best + 1 < values.size() && std::isnan(values[best])) ++best;
  // Whether a stretch holds anything larger is a question for vector instructions; most do not.
  constexpr std::size_t kStretch = 64;
  for (std::size_t from = 0; from < values.size(); from += kStretch) {
    const std::size_t end = std::min(values.size(), from + kStretch);
    unsigned larger = 0;
    for (std::size_t i = from; i < end; ++i) larger |= values[i] > values[best] ? 1U : 0U;
    for (std::size_t i = from; larger != 0 && i < end; ++i) {
      if (values[i] > values[best]) best = i;
    }
  }
  return best;
}

/// Bit i is whether values[i] > 0.5, for 64 of them.
std::uint64_t above_half(const float* values) {
  std::uint64_t word = 0;
#ifdef __SSE2__
  const __m128 half = _mm_set1_ps(0.5F);
  for (unsigned i = 0; i < kWord; i += 4) {
    const int four = _mm_movemask_ps(_mm_cmpgt_ps(_mm_loadu_ps(values + i), half));
    word |= static_cast<std::uint64_t>(static_cast<unsigned>(four)) << i;
  }
#else
  for (unsigned i = 0; i < kWord; ++i) word |= static_cast<std::uint64_t>(values[i] > 0.5F) << i;
#endif
  return word;
}

}  // namespace

double FeatureCode::largest() const noexcept {
  return std::ldexp(1.0, static_cast<int>(whole)) - std::ldexp(1.0, -static_cast<int>(fraction));
}

float FeatureCode::decode(std::uint32_t code) const noexcept {
  const std::uint32_t sign = std::uint32_t{1} << (whole + fraction);
  const double magnitude =
      std::ldexp(static_cast<double>(code & (sign - 1)), -static_cast<int>(fraction));
  return static_cast<float>((code & sign) != 0 ? -magnitude : magnitude);
}

BitView::BitView(const BitCode& code, std::span<const float> values)
    : code_(code), values_(values.first(code.values)) {
  if (code_.input == BitInput::kOneHot) hot_ = largest_of(values_);
}

bool BitView::operator[](std::size_t position) const {
  switch (code_.input) {
    case BitInput::kRaw:
      return values_[position] > 0.5F;
    case BitInput::kOneHot:
      return position == hot_;
    case BitInput::kFeatures:
      break;
  }
  const unsigned bits = code_.feature.bits();
  const std::uint32_t code = code_.feature.encode(values_[position / bits]);
  return (code >> (bits - 1 - position % bits) & 1) != 0;
}

void BitView::read(std::size_t first, std::span<std::uint64_t> words) const {
  switch (code_.input) {
    case BitInput::kRaw:
      return read_raw(first, words);
    case BitInput::kOneHot:
      std::fill(words.begin(), words.end(), 0);
      if (hot_ >= first && (hot_ - first) / kWord < words.size() && hot_ < values_.size()) {
        words[(hot_ - first) / kWord] = std::uint64_t{1} << ((hot_ - first) % kWord);
      }
      return;
    case BitInput::kFeatures:
      return read_features(first, words);
  }
}

void BitView::read_raw(std::size_t first, std::span<std::uint64_t> words) const {
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::size_t from = std::min(values_.size(), first + kWord * w);
    const auto values = values_.subspan(from, std::min<std::size_t>(kWord, values_.size() - from));
    if (values.size() == kWord) {
      words[w] = above_half(values.data());
      continue;
    }
    words[w] = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      words[w] |= static_cast<std::uint64_t>(values[i] > 0.5F) << i;
    }
  }
}

void BitView::read_features(std::size_t first, std::span<std::uint64_t> words) const {
  const FeatureCode feature = code_.feature;
  const unsigned bits = feature.bits();
  // Codes are made some at a time, in a loop of its own that the compiler turns into vector code.
  std::array<std::uint32_t, 256> codes;
  std::size_t at = std::min(first / bits, values_.size());
  std::size_t made = 0, taken = 0;
  const auto make_codes = [&] {
    const auto from = values_.subspan(at, std::min(codes.size(), values_.size() - at));
    for (std::size_t i = 0; i < from.size(); ++i) codes[i] = feature.encode(from[i]);
    at += from.size();
    made = from.size();
    taken = 0;
    return made > 0;
  };
  std::uint64_t code = 0;
  unsigned left = 0;  // how many bits of `code`, its lowest ones, are yet to be written
  if (first % bits != 0 && make_codes()) {
    left = bits - static_cast<unsigned>(first % bits);
    code = codes[taken++];
  }
  // Gathered with the first bit highest; a full word is reversed once. What an earlier word holds
  // of a code leaves the next one at the top.
  for (std::uint64_t& word : words) {
    std::uint64_t gathered = 0;
    for (unsigned free = kWord; free > 0;) {
      if (left == 0) {
        if (taken == made && !make_codes()) break;
        code = codes[taken++];
        left = bits;
      }
      const unsigned written = std::min(left, free);
      left -= written;
      free -= written;
      gathered |= code >> left << free;
    }
    word = reversed(gathered);
  }
}

std::vector<float> decode_features(const FeatureCode& code, const PackedSymbols& bits,
                                   std::size_t first, std::size_t features) {
  std::vector<float> values(features);
  std::array<Symbol, 1 + FeatureCode::kMostWhole + FeatureCode::kMostFraction> of_one{};
  for (std::size_t i = 0; i < features; ++i) {
    const std::span<Symbol> symbols = std::span(of_one).first(code.bits());
    bits.read(first + i * code.bits(), symbols);
    std::uint32_t read = 0;
    for (const Symbol bit : symbols) read = read << 1 | static_cast<std::uint32_t>(bit & 1);
    values[i] = code.decode(read);
  }
  return values;
}

}  // namespace sotto
