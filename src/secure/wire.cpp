#include "secure/wire.h"

#include <set>

namespace sotto::secure {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

}  // namespace

std::vector<unsigned char> write_shares(const SharePair& shares) {
  std::vector<unsigned char> bytes;
  for (const Share* const share : {&shares.seed, &shares.key}) {
    for (const std::uint64_t value : share->values) {
      for (std::size_t i = 0; i < kWordBytes; ++i) {
        bytes.push_back(static_cast<unsigned char>(value >> (8 * i)));
      }
    }
  }
  return bytes;
}

Result<SharePair> read_shares(std::span<const unsigned char> bytes, std::uint32_t x) {
  if (bytes.size() != 2 * kShareWords * kWordBytes) {
    return fail(ErrorKind::kCorrupt, "secure aggregation: shares of a wrong length");
  }
  SharePair shares;
  std::size_t next = 0;
  for (Share* const share : {&shares.seed, &shares.key}) {
    share->x = x;
    for (std::uint64_t& value : share->values) {
      for (std::size_t i = 0; i < kWordBytes; ++i) {
        value |= std::uint64_t{bytes[next++]} << (8 * i);
      }
    }
  }
  return shares;
}

Result<void> check_roster(const Session& session, std::span<const Advertisement> roster) {
  if (roster.size() != session.members) {
    return fail(ErrorKind::kRefused, "secure aggregation: keys of " +
                                         std::to_string(roster.size()) + " members instead of " +
                                         std::to_string(session.members));
  }
  std::set<PublicKey> keys;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (roster[i].member != i) return refuse_member(roster[i].member, "out of its place");
    if (!keys.insert(roster[i].mask_key).second || !keys.insert(roster[i].seal_key).second) {
      return refuse_member(roster[i].member, "a key that is another's too");
    }
  }
  return {};
}

}  // namespace sotto::secure
