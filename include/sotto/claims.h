// What may be said of a client's privacy, from the exact value for one weight to what a server can
// learn in the whole training. The epsilon of one weight must never pass for a client's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/choices.h"
#include "sotto/mechanism.h"

namespace sotto {

/// What a claim protects: two data sets that differ in this are hard to tell apart.
enum class Unit {
  kWeight,          // one weight that a client sends
  kVector,          // the weights of a client that pass a mechanism as one vector
  kReport,          // all that a client sends in one report
  kRecordFeatures,  // the features of a record that is randomized before any training
  kRecordLabel,     // its label
  kRecordReport,    // its report, features and label, the network that encodes it held fixed
  kEncodedRecord,   // such a record, whatever else it decides
  kRecord,          // one record of a client more or less
  kClient,          // all data of a client
  kParticipation,   // whether a client's reports were made from its data or were pure noise
};

/// How long an adversary watches.
enum class Period { kRound, kTraining };

/// What the adversary is given.
enum class View {
  kReports,         // every report, and who sent it
  kSecretSampling,  // reports without names: nobody sees who was picked, everybody how many
  kShuffler,        // the batches of a shuffler
  kDelays,          // reports after random delays, taken to mix perfectly
  kSum,             // sums of reports, by secure aggregation
};

/// Members of a batch who work with the server, beyond those whom the exposure counts already.
enum class Colluders { kNone, kTenth, kHalf };

struct Scope {
  Unit unit = Unit::kClient;
  Period period = Period::kTraining;
  View view = View::kReports;
  Colluders colluders = Colluders::kNone;
  friend bool operator==(const Scope&, const Scope&) = default;
};

/// What a claim's epsilon is.
enum class Status {
  kProven,     // an upper bound by the theorem that is named
  kPublished,  // what the authors of a mechanism claim, which is not proven or does not hold
  kMeasured,   // a lower bound: what an attack found
  kViolated,   // a lower bound above what is proven: the proof or the program is wrong
};

struct Claim {
  Scope scope;
  double epsilon = 0.0;
  double delta = 0.0;
  std::string theorem{};
  std::string assumption{};  // beyond the mechanism's; empty: none
  Status status = Status::kProven;
  std::string authors{};  // whose claim it is, with kPublished; empty: ours

  static constexpr double kVacuous = 50.0;  // e^50 protects nobody
  bool vacuous() const noexcept { return !(epsilon <= kVacuous); }
  /// Whether an attack found it: a lower bound.
  bool measured() const noexcept {
    return status == Status::kMeasured || status == Status::kViolated;
  }
  /// Whether it is a proven claim of this scope.
  bool proves(const Scope& wanted) const noexcept {
    return status == Status::kProven && scope == wanted;
  }
};

/// In words, as tables, run.json and certificates have them: "client, whole training, after the
/// shuffler". Throws std::logic_error for a scope that no claim has.
std::string_view scope_text(const Claim& claim);
/// The assumption, or "-".
std::string_view assumption_text(const Claim& claim);
/// "sotto", or whose claim it is.
std::string_view source_text(const Claim& claim);

/// Rounds in which a client sends the same kinds of reports.
struct Turn {
  /// What is sent together in one round. More than one list where ranges moved between rounds (all
  /// lists have as many mechanisms, of the same kinds): claims hold for the worst of them.
  std::vector<std::vector<std::shared_ptr<const Mechanism>>> variants;
  std::uint64_t rounds = 0;  // the most such rounds that a single client took part in
  /// Number of such rounds by the number of well-formed reports that the server was given, whether
  /// it released anything or not. Rounds of which it was given nothing are missing.
  std::map<std::uint64_t, std::uint64_t> batches;
  /// How many such rounds there were, whoever took part, also those without a report: all of them
  /// count where nobody sees who was picked. 0: as many as `batches` and `rounds` say.
  std::uint64_t held = 0;
};

/// One mechanism, always the same, in `rounds` rounds with `batch` clients each (0: not released).
Turn turn_of(std::shared_ptr<const Mechanism> mechanism, std::uint64_t rounds,
             std::uint64_t batch = 0);

/// What was done, or is planned: all that claims follow from.
struct Exposure {
  std::vector<Turn> turns;
  bool every_round = true;  // whether all clients took part in all rounds
  ShuffleMode shuffle = ShuffleMode::kNone;
  std::uint64_t split = 0;  // symbols of a client that travel together; 0: the whole report
  /// Probability of each client to be picked, independently of the others, where nobody sees who is
  /// but everybody how many; 1: it is seen. It counts together with `population` alone.
  double sampling = 1.0;
  std::uint64_t population = 0;  // the clients who may be picked; 0: not known
  /// The share of a batch's other members who are honest: they keep their coins secret. The rest
  /// works with the server and hides nobody.
  double honest = 1.0;
  double delta = 1e-6;                    // what composed claims may fail with
  std::optional<double> audited_epsilon;  // a measured lower bound for the whole training
  double audit_confidence = 0.0;

  /// The most rounds of a single client, and batches by size, over all turns.
  std::uint64_t rounds() const;
  std::map<std::uint64_t, std::uint64_t> batches() const;
  /// Whether it may count that nobody sees who was picked.
  bool hidden() const { return sampling < 1.0 && population > 0; }
  /// Every mechanism once, by identity, in the order in which they come.
  std::vector<std::shared_ptr<const Mechanism>> mechanisms() const;
};

/// The table of claims, from the narrowest to the widest. A turn whose lists have unequal lengths
/// is a fault of the program and throws.
std::vector<Claim> claims_of(const Exposure& exposure);

/// What a client's single record is protected by when it trains with DPSGD: gradients clipped,
/// noise of `noise_multiplier` times the clipping norm, each record in a batch with probability
/// `sampling`. It speaks of one record, not of the client: no claim of the table is like it.
Claim dpsgd_claim(double noise_multiplier, double sampling, std::uint64_t steps, double delta);

/// Whether this is a proven claim about a client over the whole training, with the server as the
/// adversary: what a run may be called by.
bool promises_client(const Claim& claim);
/// The strongest of these, the one with fewer assumptions among equals; null where there is none.
const Claim* client_claim(const std::vector<Claim>& claims);

}  // namespace sotto
