#include "rpc/chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "rpc/seal.h"
#include "shuffle/envelope_size.h"

namespace sotto::rpc {
namespace {

constexpr char kMagic[4] = {'S', 'O', 'C', '1'};
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kHeaderBytes = sizeof kMagic + kHashBytes;
constexpr std::size_t kLengthBytes = 8;

/// The 32 bytes that 64 hex digits stand for.
std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

bool all_drawn(const PackedSymbols& packed, const ChunkSpec& spec) {
  if (packed.bits() == 1 && spec.smallest <= 0 && spec.largest >= 1) return true;
  std::array<Symbol, 2048> piece;
  for (std::size_t first = 0; first < packed.size(); first += piece.size()) {
    const std::span<Symbol> part(piece.data(), std::min(piece.size(), packed.size() - first));
    packed.read(first, part);
    if (!std::ranges::all_of(part,
                             [&](Symbol s) { return s >= spec.smallest && s <= spec.largest; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::vector<ChunkSpec>> chunk_specs(std::span<const Part> parts, std::size_t split) {
  std::vector<ChunkSpec> specs;
  for (const Part& part : parts) {
    const Mechanism& mechanism = *part.mechanism;
    const std::size_t total = mechanism.outputs();
    const std::size_t piece = split == 0 ? total : split;
    for (std::size_t first = 0; first < total; first += piece) {
      const std::size_t symbols = std::min(piece, total - first);
      const std::size_t bytes =
          kSealBytes + kHeaderBytes +
          envelope_bytes(mechanism.id().size(), symbols, mechanism.symbol_bits());
      if (bytes > kLongestChunk || specs.size() == kMostChunks) {
        return fail(ErrorKind::kUsage, "shuffle.split = " + std::to_string(split) +
                                           ": a chunk of " + std::to_string(bytes) +
                                           " bytes; valid are chunks of at most " +
                                           std::to_string(kLongestChunk) + " bytes and at most " +
                                           std::to_string(kMostChunks) + " of them");
      }
      specs.push_back({std::string(mechanism.id()), first, symbols, mechanism.symbol_bits(),
                       mechanism.smallest_symbol(), mechanism.largest_symbol(),
                       static_cast<std::uint32_t>(bytes)});
    }
  }
  return specs;
}

std::string recipe_hash(const Recipe& recipe) {
  nlohmann::json keys = recipe.to_json();
  keys.erase("output");
  return sha256_hex(keys.dump());
}

std::vector<std::byte> write_chunk(const std::string& recipe_hash,
                                   std::span<const std::byte> envelope) {
  std::vector<std::byte> bytes;
  bytes.reserve(kHeaderBytes + envelope.size());
  for (const char c : kMagic) bytes.push_back(static_cast<std::byte>(c));
  const std::vector<std::byte> hash = from_hex(recipe_hash);
  bytes.insert(bytes.end(), hash.begin(), hash.end());
  bytes.insert(bytes.end(), envelope.begin(), envelope.end());
  return bytes;
}

Result<Envelope> read_chunk(std::span<const std::byte> bytes, const std::string& recipe_hash,
                            RoundId round, const ChunkSpec& spec) {
  const auto bad = [](ErrorKind kind, const char* what) {
    return fail(kind, std::string("chunk: ") + what);
  };
  if (bytes.size() < kHeaderBytes) return bad(ErrorKind::kCorrupt, "shorter than its header");
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return bad(ErrorKind::kCorrupt, "wrong magic");
  }
  const std::vector<std::byte> hash = from_hex(recipe_hash);
  if (hash.size() != kHashBytes ||
      std::memcmp(bytes.data() + sizeof kMagic, hash.data(), kHashBytes) != 0) {
    return bad(ErrorKind::kRefused, "of another recipe");
  }
  SOTTO_TRY(Envelope envelope, Envelope::parse(bytes.subspan(kHeaderBytes)));
  if (envelope.round() != round) return bad(ErrorKind::kRefused, "of another round");
  if (envelope.mechanism_id() != spec.mechanism_id) {
    return bad(ErrorKind::kRefused, "of another mechanism");
  }
  if (envelope.position() != spec.position || envelope.symbols().size() != spec.symbols ||
      envelope.symbols().bits() != spec.bits) {
    return bad(ErrorKind::kRefused, "of another place in the report");
  }
  if (!all_drawn(envelope.symbols(), spec)) {
    return bad(ErrorKind::kRefused, "a symbol that the mechanism cannot have drawn");
  }
  return envelope;
}

std::vector<std::byte> write_report(std::span<const std::vector<std::byte>> envelopes) {
  std::vector<std::byte> bytes;
  for (const std::vector<std::byte>& envelope : envelopes) {
    for (std::size_t b = 0; b < kLengthBytes; ++b) {
      bytes.push_back(static_cast<std::byte>(std::uint64_t{envelope.size()} >> (8 * b)));
    }
    bytes.insert(bytes.end(), envelope.begin(), envelope.end());
  }
  return bytes;
}

Result<std::vector<std::vector<std::byte>>> read_report(std::span<const std::byte> bytes) {
  std::vector<std::vector<std::byte>> envelopes;
  while (!bytes.empty()) {
    if (bytes.size() < kLengthBytes) return fail(ErrorKind::kCorrupt, "report: truncated");
    std::uint64_t length = 0;
    for (std::size_t b = 0; b < kLengthBytes; ++b) {
      length |= std::to_integer<std::uint64_t>(bytes[b]) << (8 * b);
    }
    bytes = bytes.subspan(kLengthBytes);
    if (length > bytes.size()) return fail(ErrorKind::kCorrupt, "report: truncated");
    envelopes.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    bytes = bytes.subspan(length);
  }
  return envelopes;
}

}  // namespace sotto::rpc
