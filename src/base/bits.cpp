#include "sotto/bits.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <cmath>
#include <numbers>
#include <string>

#include "base/aes_ctr.h"
#include "base/uniform.h"

namespace sotto {
namespace {

void append_u64(std::string& text, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) text.push_back(static_cast<char>(value >> (8 * byte)));
}

}  // namespace

struct BitSource::Cipher : AesCtr {
  using AesCtr::AesCtr;
};

BitSource::BitSource(const Key& key) : cipher_(std::make_unique<Cipher>(key)), buffer_(kWords) {}

BitSource::BitSource(BitSource&&) noexcept = default;
BitSource& BitSource::operator=(BitSource&&) noexcept = default;
BitSource::~BitSource() = default;

BitSource BitSource::from_system() {
  Key key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    die_without_randomness("the system's random generator failed");
  }
  return BitSource(key);
}

BitSource BitSource::from_seed(std::uint64_t seed, std::string_view purpose,
                               std::initializer_list<std::uint64_t> path) {
  // Length-prefixed, so that no two (purpose, path) pairs give the same text.
  std::string text = "sotto.bits.v1";
  append_u64(text, seed);
  append_u64(text, purpose.size());
  text += purpose;
  append_u64(text, path.size());
  for (const std::uint64_t step : path) append_u64(text, step);
  Key key;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  return BitSource(key);
}

void BitSource::fill(std::span<std::byte> out) { cipher_->fill(out); }

void BitSource::refill() {
  fill(std::as_writable_bytes(std::span(buffer_)));
  next_ = 0;
}

std::uint64_t BitSource::below(std::uint64_t bound) { return uniform_below(*this, bound); }

double BitSource::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
  return radius * std::cos(2.0 * std::numbers::pi * unit());
}

}  // namespace sotto
