// Sealed chunks: what a client hands to a shuffler, and only the server can read.
//
// A chunk is one Envelope in a libsodium sealed box (X25519, XChaCha20-Poly1305) to the server's
// key. The plaintext is
//
//   version 1 B | task 16 B | round 4 B | position 8 B | length 4 B | envelope | zeros
//
// padded to the largest envelope of the round's plan, so that all chunks of a round have one size,
// whoever sent them and whatever is in them. Task, round and position are checked when it is
// opened: a shuffler cannot carry a chunk into another training, round or place. A sealed box says
// nothing about its sender; that is the point, and it means that who may send chunks at all is
// decided by whoever accepts connections (docs/reference/threat-model.md).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "sotto/identity.h"
#include "sotto/stages.h"

namespace sotto::identity {

/// What a sealed box adds to the padded envelope: header and authentication.
inline constexpr std::size_t kSealOverhead = 1 + 16 + 4 + 8 + 4 + 48;
/// No envelope of a sane plan is larger; keeps a hostile size from being allocated.
inline constexpr std::size_t kLargestSealed = std::size_t{1} << 31;

/// All that a round's chunks have in common.
struct ChunkPlan {
  std::string_view task;  // the training: the recipe's fingerprint and what makes the run unique
  RoundId round = 0;
  std::size_t largest_envelope = 0;  // bytes, over the whole plan: the same for every client

  std::size_t sealed_bytes() const noexcept { return largest_envelope + kSealOverhead; }
};

/// The size that all of a report's envelopes are padded to. It depends on mechanism and split only.
std::size_t largest_envelope(std::span<const Envelope> envelopes);

/// An error for an envelope of another round, or one that is larger than the plan says.
Result<std::vector<std::byte>> seal(const Envelope& envelope, const ChunkPlan& plan,
                                    const PublicKey& server);

/// The envelope, if the chunk was sealed for this key, task and round and is whole to the last
/// padding byte.
Result<Envelope> open_sealed(std::span<const std::byte> chunk, const ChunkPlan& plan,
                             const SealKey& server);

}  // namespace sotto::identity
