#include "base/random/streams.h"

#include <bit>

#include "base/random/aes_ctr.h"
#include "base/random/uniform.h"

namespace sotto {

struct BlockStream::Cipher : AesCtr {
  using AesCtr::AesCtr;
};

StreamKey::StreamKey(BitSource& bits) {
  for (std::uint64_t& word : words_) word = bits.next_u64();
}

BlockStream::BlockStream(const StreamKey& key) {
  const auto bytes = std::bit_cast<AesCtr::Key>(key.words_);
  main_ = std::make_unique<Cipher>(bytes);
  more_ = std::make_unique<Cipher>(bytes);
}

BlockStream::~BlockStream() = default;

void BlockStream::seek(std::uint64_t block) {
  block_ = block;
  main_->seek(2 * block, 0);
}

void BlockStream::fill(std::span<std::byte> out) { main_->fill(out); }

void MoreBits::refill() {
  // Two cipher blocks a refill; 2^19 refills a weight are never reached (each has a probability of
  // about 2^-32), and wrapping into a neighbour's bits would still be pseudo-random.
  const std::uint64_t counter = position_ << 20 | (2 * refills_++ & 0xFFFFF);
  stream_->more_->seek(2 * block_ + 1, counter);
  stream_->more_->fill(std::as_writable_bytes(std::span(buffer_)));
  next_ = 0;
}

std::uint64_t MoreBits::below(std::uint64_t bound) { return uniform_below(*this, bound); }

}  // namespace sotto
