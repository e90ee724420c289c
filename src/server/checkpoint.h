// A run's state between two rounds, in one file that is replaced atomically.
//
// "SOTTOCK1" | u64 length of the header | header (JSON: recipe fingerprint, layout fingerprint,
// rounds so far, who was refused in them, attendance, ranges) | weights, the server's velocity and
// what clients keep, as little-endian float32 | SHA-256 of all before it, 64 hex digits.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "client/client.h"
#include "server/attendance.h"
#include "sotto/federation.h"

namespace sotto {

struct Checkpoint {
  std::string recipe;  // fingerprint
  std::string layout;  // fingerprint
  std::vector<RoundMetrics> rounds;
  /// Clients that had no budget, by round. All others that were picked took part.
  std::map<RoundId, std::vector<std::uint32_t>> refused;
  Attendance attendance;  // of rounds whose clients were processes
  /// One for each tensor, from the named round on; none where the recipe's hold throughout.
  std::map<RoundId, std::vector<Range>> ranges;
  std::vector<float> weights;
  std::vector<float> velocity;  // of the server's momentum; empty without
  ClientStates states;          // what clients keep for their next rounds
  /// Whose coins its rounds were made with, as name_of() says it; empty: a file of before.
  std::string coins;
};

Result<void> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Checks everything: length, hash, header, and that every weight is finite.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path);
Result<Checkpoint> parse_checkpoint(std::span<const std::byte> bytes, const std::string& place);

RoundMetrics metrics_from_json(const nlohmann::json& json);

}  // namespace sotto
