// All parties of one round of secure aggregation in one process: every message passes from party to
// party as it would over a network, and each party is given nothing else.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "sotto/secure.h"

namespace sotto::secure {

class Simulation {
 public:
  /// Keys and shares of all members. `bits_of` gives each member its randomness.
  static Result<std::unique_ptr<Simulation>> begin(const Session& session,
                                                   const std::function<BitSource(Member)>& bits_of,
                                                   unsigned threads);

  /// The member masks its envelopes and sends them. Several members may do so at once. A member
  /// that never does has vanished.
  Result<void> submit(Member member, std::span<const Envelope> envelopes);

  /// The survivors answer, the server unmasks. Refuses below the threshold.
  Result<std::vector<SummedEnvelope>> finish(unsigned threads);

  std::size_t reports() const { return server_.reports(); }
  /// What clients sent so far: keys, sealed shares, masked reports, answers.
  std::uint64_t bytes_up() const { return bytes_up_; }

 private:
  Simulation(const Session& session, std::vector<Advertisement> roster)
      : session_(session), server_(session, std::move(roster)) {}
  struct Party {
    std::optional<MaskingClient> masking;
    std::optional<UnmaskingClient> unmasking;
    std::vector<SealedShares> incoming;
  };
  Session session_;
  SummingServer server_;
  std::vector<Party> parties_;
  std::mutex mutex_;
  std::uint64_t bytes_up_ = 0;
};

}  // namespace sotto::secure
