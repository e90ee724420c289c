// Random bits for work that is cut into blocks: every block has a stream of its own, so the result
// does not depend on which thread takes which block.
//
// All streams of one report come from one AES-256-CTR key, which is drawn from the caller's
// BitSource. Block b reads the key stream from counter 2b * 2^64 on; the weight at position i of
// the block may ask for more bits, which lie at (2b + 1) * 2^64 + i * 2^20. So a weight's further
// bits do not depend on whether other weights needed theirs, and a vector kernel that asks late
// gives the same symbols as a scalar one that asks at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "sotto/bits.h"

namespace sotto {

class StreamKey {
 public:
  explicit StreamKey(BitSource& bits);
  /// For a device that computes the same streams.
  const std::array<std::uint64_t, 4>& words() const noexcept { return words_; }

 private:
  friend class BlockStream;
  std::array<std::uint64_t, 4> words_;
};

class BlockStream;

/// Random words beyond those that a weight draws at once. Draws nothing until asked.
class MoreBits {
 public:
  std::uint64_t next_u64() {
    if (next_ == buffer_.size()) refill();
    return buffer_[next_++];
  }
  /// Uniform on [0, bound), exactly, by rejection.
  std::uint64_t below(std::uint64_t bound);

 private:
  friend class BlockStream;
  MoreBits(BlockStream& stream, std::uint64_t block, std::uint64_t position)
      : stream_(&stream), block_(block), position_(position) {}
  void refill();
  BlockStream* stream_;
  std::uint64_t block_;
  std::uint64_t position_;
  std::uint64_t refills_ = 0;
  std::array<std::uint64_t, 4> buffer_{};
  std::size_t next_ = 4;
};

/// One for each thread; seek() before use.
class BlockStream {
 public:
  explicit BlockStream(const StreamKey& key);
  BlockStream(const BlockStream&) = delete;
  BlockStream& operator=(const BlockStream&) = delete;
  ~BlockStream();

  /// To the start of the stream of `block`, which must be below 2^62.
  void seek(std::uint64_t block);
  /// The next bytes of the block's stream. In pieces of 16 KiB it runs at the cipher's full speed.
  void fill(std::span<std::byte> out);
  void fill(std::span<std::uint32_t> out) { fill(std::as_writable_bytes(out)); }
  void fill(std::span<std::uint64_t> out) { fill(std::as_writable_bytes(out)); }
  /// Further bits of the weight at `position` (below 2^40) of the block that was sought last.
  MoreBits more(std::uint64_t position) { return {*this, block_, position}; }

 private:
  friend class MoreBits;
  struct Cipher;
  std::unique_ptr<Cipher> main_;
  std::unique_ptr<Cipher> more_;
  std::uint64_t block_ = 0;
};

}  // namespace sotto
