// What the reports of a round look like before any is made: how many chunks, which symbols in
// each, one size for all. A server refuses whatever is not exactly what it asked for, and neither
// number nor size of chunks tells anything about who sent them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/federation.h"
#include "sotto/sealed.h"
#include "sotto/stages.h"

namespace sotto::rpc {

/// A sealed chunk is not longer than this; a longer report wants splitting.
inline constexpr std::size_t kLongestChunk = std::size_t{64} << 20;
/// And a report has not more chunks than this.
inline constexpr std::size_t kMostChunks = std::size_t{1} << 24;

/// What one chunk of a report must hold.
struct ChunkSpec {
  std::string mechanism_id;
  std::uint64_t position = 0;  // of the first symbol, in the mechanism's vector
  std::uint64_t symbols = 0;
  unsigned bits = 0;    // of a symbol
  Symbol smallest = 0;  // that the mechanism draws
  Symbol largest = 0;
};

/// The report of one group of clients, as chunks in the order in which a client makes them.
class ReportForm {
 public:
  static Result<ReportForm> make(std::span<const Part> parts, std::size_t split);

  std::size_t chunks() const noexcept { return chunks_; }
  ChunkSpec chunk(std::size_t index) const;
  /// What every envelope is padded to before it is sealed.
  std::size_t largest_envelope() const noexcept { return largest_envelope_; }
  std::size_t sealed_bytes() const noexcept { return largest_envelope_ + identity::kSealOverhead; }

 private:
  struct PartForm {
    ChunkSpec whole;    // the part as one chunk
    std::size_t piece;  // symbols of a chunk
    std::size_t first;  // number of its first chunk
    std::size_t chunks;
  };
  std::vector<PartForm> parts_;
  std::size_t chunks_ = 0;
  std::size_t largest_envelope_ = 0;
};

/// What tells a training from every other: in ledgers and inside sealed chunks.
std::string task_name(const std::string& recipe_hash, std::span<const std::byte> run);

/// Opens a sealed chunk and refuses one that is not what `spec` says, down to a symbol that the
/// mechanism cannot have drawn: what comes out can be counted.
Result<Envelope> open_chunk(std::span<const std::byte> sealed, const identity::ChunkPlan& plan,
                            const ChunkSpec& spec, const identity::SealKey& key);

/// A client's whole report as its ledger keeps it: each envelope after its length as u64.
std::vector<std::byte> write_report(std::span<const Envelope> envelopes);
Result<std::vector<Envelope>> read_report(std::span<const std::byte> bytes);

}  // namespace sotto::rpc
