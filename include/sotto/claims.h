// What may be said of a client's privacy, from the exact value for one weight to what a server can
// learn in the whole training. The epsilon of one weight must never pass for a client's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

struct Claim {
  std::string scope;  // "client, whole training"
  double epsilon = 0.0;
  double delta = 0.0;
  std::string theorem;
  std::string assumption;  // "-" where none beyond the mechanism's
  std::string source;      // "sotto", or whose claim it is

  static constexpr double kVacuous = 50.0;  // e^50 protects nobody
  bool vacuous() const noexcept { return !(epsilon <= kVacuous); }
};

/// What happens to reports between client and server.
enum class ShuffleMode {
  kNone,      // the server sees who sent what
  kShuffler,  // batches in an order that tells nothing
};

/// What was done, or is planned: all that claims depend on besides the mechanism.
struct Exposure {
  std::uint64_t rounds = 0;  // the most rounds that a single client took part in
  bool every_round = true;   // whether all clients did so in all rounds
  ShuffleMode shuffle = ShuffleMode::kNone;
  std::uint64_t split = 0;  // symbols of a client that travel together; 0: the whole report
  /// Number of rounds by size of the batch that was released.
  std::map<std::uint64_t, std::uint64_t> batches;
  double sampling = 1.0;  // chance to be picked, where nobody sees who is; 1: it is seen
  double delta = 1e-6;    // what composed claims may fail with
  std::optional<double> audited_epsilon;  // a measured lower bound for the whole training
  double audit_confidence = 0.0;
};

/// The table of claims, from the narrowest to the widest.
std::vector<Claim> claims_of(const Mechanism& mechanism, const Exposure& exposure);

/// What a client's single record is protected by when it trains with DPSGD: gradients clipped,
/// noise of `noise_multiplier` times the clipping norm, each record in a batch with probability
/// `sampling`. It speaks of one record, not of the client: no claim of the table is like it.
Claim dpsgd_claim(double noise_multiplier, double sampling, std::uint64_t steps, double delta);

/// Whether claims of this scope are proven ones about a client over the whole training, with the
/// server as the adversary: what a run may be called by.
bool promises_client(std::string_view scope);
/// The strongest of these, the one with fewer assumptions among equals; null where there is none.
const Claim* client_claim(const std::vector<Claim>& claims);

}  // namespace sotto
