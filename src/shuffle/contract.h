// What a client's report depends on, in one text that the client signs.
//
// Server and client each make it from recipe and task by themselves. A shuffler puts only reports
// of one digest into one batch, so that nothing in a batch tells its members apart: neither another
// mechanism or range, nor another form, key or model. proto/sotto/v2 states every line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shuffle/report_form.h"
#include "sotto/identity.h"
#include "sotto/result.h"
#include "sotto/stages.h"

namespace sotto::rpc {

/// Of 128 random bits from the system's generator: no two things share one.
using Tag = std::array<std::byte, 16>;

/// No contract is longer.
inline constexpr std::size_t kLongestContract = std::size_t{2} << 20;

struct Contract {
  Tag run{};
  std::string recipe;  // fingerprint
  RoundId round = 0;
  std::uint32_t group = 0;
  std::vector<std::string> mechanisms;  // contract_mechanism() of the report's parts, in order
  std::uint64_t chunks = 0;             // of a report
  std::uint64_t chunk_bytes = 0;        // of each, sealed
  bool shuffled = false;
  PublicKey seal_key{};
  std::string model;      // SHA-256 of the weights
  std::string authority;  // SHA-256 of its certificate; empty: none

  /// The one text of this contract.
  std::string text() const;
  /// SHA-256 of the text, in hex.
  std::string digest() const;
  /// Refuses every text but that of text(), and numbers that no report has.
  static Result<Contract> parse(std::string_view text);

  friend bool operator==(const Contract&, const Contract&) = default;
};

/// What all contracts of a training have in common.
struct Terms {
  Tag run{};
  std::string recipe;
  bool shuffled = false;
  PublicKey seal_key{};
  std::string authority;
};

/// A mechanism in a contract: its id and the whole digest of its ranges. An id has 64 bits of that
/// alone, and where ranges adapt the server could search for two of one id, to tell a client from
/// others.
std::string contract_mechanism(std::string_view id, std::span<const Range> ranges);

/// What a group is asked for in a round. `model` is the digest of its weights.
Contract make_contract(const Terms& terms, RoundId round, std::size_t group,
                       std::span<const Part> parts, const ReportForm& form, std::string model);
/// SHA-256 of weights as they travel: little-endian float32.
std::string model_digest(std::span<const float> model);

/// 64 lower-case digits.
bool is_sha256(std::string_view text);
std::string tag_hex(const Tag& tag);
Result<Tag> tag_from_hex(std::string_view text);

}  // namespace sotto::rpc
