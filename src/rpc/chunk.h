// What travels inside a sealed box, and what every round's chunks look like.
//
// Inside: "SOC1" | SHA-256 of the recipe, 32 bytes | the bytes of one envelope. Everything about a
// chunk but the symbols it carries is known before a round begins (ChunkSpec), so a server refuses
// whatever is not exactly what it asked for, and the size of a box tells nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/federation.h"
#include "sotto/stages.h"

namespace sotto::rpc {

/// A box is not longer than this; a longer report wants splitting.
inline constexpr std::size_t kLongestChunk = std::size_t{64} << 20;
/// And a report has not more chunks than this.
inline constexpr std::size_t kMostChunks = std::size_t{1} << 24;

/// One position of a group's reports.
struct ChunkSpec {
  std::string mechanism_id;
  std::uint64_t position = 0;  // of the first symbol, in the mechanism's vector
  std::uint64_t symbols = 0;
  unsigned bits = 0;    // of a symbol
  Symbol smallest = 0;  // that the mechanism draws
  Symbol largest = 0;
  std::uint32_t sealed_bytes = 0;

  friend bool operator==(const ChunkSpec&, const ChunkSpec&) = default;
};

/// The chunks of one client's report, in the order in which a client makes them.
Result<std::vector<ChunkSpec>> chunk_specs(std::span<const Part> parts, std::size_t split);

/// Of all keys of a recipe but [output], which names files and folders of the server's, in hex:
/// what client and server agree on before anything else.
std::string recipe_hash(const Recipe& recipe);

std::vector<std::byte> write_chunk(const std::string& recipe_hash,
                                   std::span<const std::byte> envelope);
/// Refuses a chunk of another recipe, round or place, and a symbol that the mechanism cannot have
/// drawn: what comes out can be counted.
Result<Envelope> read_chunk(std::span<const std::byte> bytes, const std::string& recipe_hash,
                            RoundId round, const ChunkSpec& spec);

/// A client's whole report as its ledger keeps it: each envelope after its length as u64.
std::vector<std::byte> write_report(std::span<const std::vector<std::byte>> envelopes);
Result<std::vector<std::vector<std::byte>>> read_report(std::span<const std::byte> bytes);

}  // namespace sotto::rpc
