// Secure aggregation after Bonawitz et al. (CCS 2017): the server learns the sum of a round's
// reports and nothing else of them, and clients may vanish on the way.
//
// Every pair of clients agrees on a mask that one adds and the other subtracts, modulo 2^64, so the
// masks of all cancel in the sum. Each client adds one more mask of its own. The secrets behind
// both are shared among all clients, any `threshold` of whom recover one: the pairwise key of a
// client that vanished, or the own mask's seed of one that did not; never both of one client, which
// would bare its report. Symbols are integers, so the unmasked sum is the plain one, bit for bit.
//
// Each state of a party is a class of its own that cannot be copied, and moving on consumes it: a
// client cannot answer twice, or mask before it has shared. Secrets are wiped when a state ends.
// Assumption: a server that follows the protocol but is curious, and fewer than `threshold` clients
// who tell it what they know. (A server that lies about who vanished is not met here: that takes
// signatures and one more exchange.)
//
// X25519, BLAKE2b and ChaCha20 are libsodium's; secret sharing is over the field of 2^61 - 1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sotto/bits.h"
#include "sotto/keys.h"
#include "sotto/result.h"
#include "sotto/stages.h"

namespace sotto::secure {

using Digest = std::array<unsigned char, 32>;

/// A client's place in the session, from 0.
using Member = std::uint32_t;

/// What all parties of a round know beforehand. 2 <= threshold <= members.
struct Session {
  RoundId round = 0;
  std::uint32_t members = 0;
  std::uint32_t threshold = 0;
};

/// The threshold that a share of the round's clients means: rounded up, and at least 2, because the
/// sum of one report is that report.
inline std::uint32_t threshold_of(double share, std::size_t members) {
  // A share like 0.66 of 50 is meant as 33, though the product of doubles may lie just above.
  const double wanted = std::ceil(share * static_cast<double>(members) - 1e-9);
  return static_cast<std::uint32_t>(std::max(2.0, wanted));
}

/// An error for a session in which nothing could be hidden or recovered.
Result<void> check(const Session& session);

inline constexpr std::size_t kShareWords = 5;
/// One of the pieces that a secret is cut into: polynomials' values at x, which is at least 1.
struct Share {
  std::uint32_t x = 0;
  std::array<std::uint64_t, kShareWords> values{};
  bool operator==(const Share&) const = default;
};

// What travels, in this order.

/// Client to all: keys, and a digest that the seed of the own mask is checked against.
struct Advertisement {
  Member member = 0;
  PublicKey seal_key{};
  PublicKey mask_key{};
  Digest seed_digest{};
};

/// Client to client, through a server that cannot read it: shares of both secrets.
struct SealedShares {
  Member from = 0;
  Member to = 0;
  std::vector<unsigned char> box;
};

/// Where the symbols of an envelope belong.
struct Place {
  std::string mechanism_id;
  std::uint64_t position = 0;
  std::uint64_t count = 0;
  bool operator==(const Place&) const = default;
};

/// Client to server: its envelopes under all masks, uniform to whoever does not know them.
class MaskedReport {
 public:
  Member member() const noexcept { return member_; }
  const std::vector<Place>& places() const noexcept { return places_; }
  std::span<const std::uint64_t> words() const noexcept { return words_; }
  std::size_t bytes() const noexcept { return words_.size() * sizeof(std::uint64_t); }

 private:
  friend class MaskingClient;
  MaskedReport() = default;
  Member member_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint64_t> words_;
};

/// Client to server: for every member one share, of its own mask's seed if it sent a report, else
/// of its pairwise key.
struct Answer {
  Member member = 0;
  std::map<Member, Share> seeds;
  std::map<Member, Share> keys;
};

// The client's states.

/// After it has sent its masked report.
class UnmaskingClient {
 public:
  UnmaskingClient(UnmaskingClient&&) noexcept = default;
  UnmaskingClient& operator=(UnmaskingClient&&) noexcept = default;

  /// Refuses fewer than the threshold, and members that there are not.
  Result<Answer> answer(std::span<const Member> survivors) &&;

 private:
  friend class MaskingClient;
  UnmaskingClient() = default;
  Session session_;
  Member member_ = 0;
  std::map<Member, Share> seeds_;
  std::map<Member, Share> keys_;
};

/// Knows everybody's keys and has sent its shares.
class MaskingClient {
 public:
  MaskingClient(MaskingClient&&) noexcept = default;
  MaskingClient& operator=(MaskingClient&&) noexcept = default;

  /// The masked report, and the state in which the client helps to unmask the sum. `incoming` are
  /// the boxes that the others sealed for this client.
  struct Masked;
  Result<Masked> mask(std::span<const Envelope> envelopes,
                      std::span<const SealedShares> incoming) &&;

 private:
  friend class AdvertisingClient;
  MaskingClient() = default;
  Session session_;
  Member member_ = 0;
  Secret<32> seal_secret_;
  Secret<32> mask_secret_;
  Secret<32> seed_;
  Share own_seed_;  // its share of its own secrets
  Share own_key_;
  std::vector<Advertisement> roster_;
};

struct MaskingClient::Masked {
  MaskedReport report;
  UnmaskingClient next;
};

/// Has drawn its keys.
class AdvertisingClient {
 public:
  AdvertisingClient(const Session& session, Member member, BitSource& bits);
  AdvertisingClient(AdvertisingClient&&) noexcept = default;
  AdvertisingClient& operator=(AdvertisingClient&&) noexcept = default;

  Advertisement advertisement() const;

  /// `roster` has one advertisement of every member, in their order.
  struct Shared {
    MaskingClient next;
    std::vector<SealedShares> outgoing;
  };
  Result<Shared> share(std::span<const Advertisement> roster, BitSource& bits) &&;

 private:
  Session session_;
  Member member_;
  Secret<32> seal_secret_;
  Secret<32> mask_secret_;
  Secret<32> seed_;
};

// The server's states. Memory is that of one report, whatever the number of clients.

/// Gathers answers and takes the masks off.
class UnmaskingServer {
 public:
  /// Who sent a report, in ascending order: what the clients are asked about.
  const std::vector<Member>& survivors() const noexcept { return survivors_; }
  Result<void> accept(Answer answer);
  /// The sums, one for each envelope of a client. Refuses fewer answers than the threshold, and
  /// shares that do not give the secrets that were advertised.
  Result<std::vector<SummedEnvelope>> release(unsigned threads = 1) const;

 private:
  friend class SummingServer;
  UnmaskingServer() = default;
  Result<void> unmask_survivor(Member survivor, std::span<std::uint64_t> sums) const;
  Result<void> unmask_dropped(Member dropped, std::span<std::uint64_t> sums) const;

  Session session_;
  std::vector<Advertisement> roster_;
  std::vector<Place> places_;
  std::vector<std::uint64_t> sums_;
  std::vector<Member> survivors_;
  std::map<Member, Answer> answers_;
};

/// Adds masked reports.
class SummingServer {
 public:
  SummingServer(const Session& session, std::vector<Advertisement> roster)
      : session_(session), roster_(std::move(roster)) {}
  Result<void> accept(const MaskedReport& report);
  std::size_t reports() const noexcept { return reported_.size(); }
  /// Refuses where fewer than the threshold reported: then nothing is ever unmasked.
  Result<UnmaskingServer> close() &&;

 private:
  Session session_;
  std::vector<Advertisement> roster_;
  std::vector<Place> places_;
  std::vector<std::uint64_t> sums_;
  std::map<Member, bool> reported_;
};

/// Gathers the keys; relays what clients seal for each other.
class RosterServer {
 public:
  explicit RosterServer(const Session& session) : session_(session) {}
  Result<void> accept(const Advertisement& advertisement);
  /// Everybody's, in the order of members; an error while one is missing.
  Result<std::vector<Advertisement>> roster() const;

 private:
  Session session_;
  std::map<Member, Advertisement> all_;
};

}  // namespace sotto::secure
