// What no mechanism can be faster than: drawing the random bytes that it needs from the same
// generator, and copying its weights. Measured in turns with the mechanism, so that a busy machine
// slows both down.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/random/streams.h"
#include "sotto/bits.h"

namespace sotto::cli {

/// The same generator in the pieces in which mechanisms use it, then a copy.
class Floor {
 public:
  Floor(const std::vector<float>& weights, double random_bytes)
      : weights_(weights),
        copy_(weights.size()),
        bytes_(static_cast<std::size_t>(random_bytes)),
        stream_(StreamKey(bits_)) {}

  double seconds() {
    const Stopwatch clock;
    std::uint64_t block = 0;
    for (std::size_t done = 0; done < bytes_; ++block) {
      const std::size_t piece = std::min(piece_.size(), bytes_ - done);
      stream_.seek(block);
      stream_.fill(std::span(piece_).first(piece));
      done += piece;
    }
    std::memcpy(copy_.data(), weights_.data(), weights_.size() * sizeof(float));
    // The copy must not be optimised away.
    asm volatile("" : : "r"(copy_.data()), "r"(piece_.data()) : "memory");
    return clock.seconds();
  }

 private:
  const std::vector<float>& weights_;
  std::vector<float> copy_;
  std::size_t bytes_;
  BitSource bits_ = BitSource::from_seed(2, "bench");
  BlockStream stream_;
  std::vector<std::byte> piece_ = std::vector<std::byte>(std::size_t{16} << 10);
};

}  // namespace sotto::cli
