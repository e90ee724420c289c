// What both sides of secure aggregation agree on besides the primitives: purposes of keys, the
// bytes of a pair of shares, and what a roster must be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/secure.h"

namespace sotto::secure {

inline constexpr std::string_view kSealPurpose = "sotto seal shares";
inline constexpr std::string_view kMaskPurpose = "sotto pair mask";

struct SharePair {
  Share seed;
  Share key;
};

/// The values of both, little-endian; x goes without saying.
std::vector<unsigned char> write_shares(const SharePair& shares);
Result<SharePair> read_shares(std::span<const unsigned char> bytes, std::uint32_t x);

/// One advertisement of every member, in their order, no key of which is another's.
Result<void> check_roster(const Session& session, std::span<const Advertisement> roster);

[[nodiscard]] inline tl::unexpected<Error> refuse_member(Member member, const std::string& what) {
  return fail(ErrorKind::kRefused,
              "secure aggregation: member " + std::to_string(member) + ": " + what);
}

}  // namespace sotto::secure
