// The table of claims. A client sends all its weights, in every round that it takes part in, and
// both compose: sequentially (the sum, delta 0 for pure mechanisms) and optimally (less, at a
// delta). A shuffler lowers what the server learns; it is never taken to make things worse, since
// the server could as well have been given the reports with their names.
#include "sotto/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "account/coupling.h"
#include "account/shuffled_claim.h"
#include "base/exact.h"
#include "base/text.h"
#include "sotto/account.h"

namespace sotto {
namespace {

constexpr const char* kOurs = "sotto";
constexpr const char* kNoAssumption = "-";
constexpr const char* kRound = "client, one round";
constexpr const char* kTraining = "client, whole training";
constexpr const char* kShuffled = ", after the shuffler";

std::string counted(std::uint64_t count, const char* what) {
  return with_commas(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// A small number for people, never below it: "5.8e-28".
std::string two_digits_up(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value * 1.06);  // above half a unit of the second digit
  return text;
}

class ClaimTable {
 public:
  ClaimTable(const Mechanism& mechanism, const Exposure& exposure)
      : mechanism_(mechanism), exposure_(exposure), guarantee_(mechanism.guarantee()) {
    const std::string id(mechanism.id());
    name_ = id.substr(0, id.rfind(".v"));
  }

  std::vector<Claim> make() {
    if (by_weight()) {
      add({"one weight, one round", guarantee_.unit_epsilon, guarantee_.delta, guarantee_.statement,
           "about one of the " + with_commas(mechanism_.outputs()) +
               " weights alone, which is not what a client sends",
           kOurs});
    }
    const Claim round = local(kRound, 1);
    const Claim training = local(kTraining, exposure_.rounds);
    published();
    if (exposure_.shuffle == ShuffleMode::kShuffler) {
      shuffled(round, released_rounds() > 0, shuffled_round);
      shuffled(training, released_rounds() > 0 && exposure_.rounds > 0, shuffled_training);
    }
    audited();
    return std::move(claims_);
  }

 private:
  bool by_weight() const { return guarantee_.unit == "weight"; }
  bool pure() const { return guarantee_.delta == 0.0 && guarantee_.gaussian_ratio == 0.0; }
  void add(Claim claim) { claims_.push_back(std::move(claim)); }

  std::uint64_t released_rounds() const {
    std::uint64_t sum = 0;
    for (const auto& [size, rounds] : exposure_.batches) sum += rounds;
    return sum;
  }

  /// "20,490 weights and 10 rounds"
  std::string what_composes(std::uint64_t reports, bool one_round) const {
    std::string text = by_weight() ? counted(mechanism_.outputs(), "weight") : "";
    if (!one_round) text += (text.empty() ? "" : " and ") + counted(reports, "round");
    return text;
  }

  /// Both ways to compose so many reports; returns the one with the smaller epsilon.
  Claim local(const std::string& scope, std::uint64_t reports) {
    const bool one_round = scope == kRound;
    const std::string assumption =
        one_round || exposure_.every_round
            ? kNoAssumption
            : "for a client that takes part in " + counted(reports, "round") + ", the most of any";
    Claim sum{scope, 0.0, 0.0, "", assumption, kOurs};
    if (reports > 0) {
      const auto times = static_cast<double>(reports);
      sum.epsilon = exact::multiply_up(guarantee_.epsilon, times);
      sum.delta = std::min(1.0, exact::multiply_up(guarantee_.delta, times));
    }
    sum.theorem = reports == 0                ? "no report was sent"
                  : one_round && !by_weight() ? guarantee_.statement
                                              : "sum over " + what_composes(reports, one_round) +
                                                    " (sequential composition)";
    add(sum);
    std::optional<Claim> optimal = composed(sum, reports);
    if (!optimal) return sum;
    add(*optimal);
    return optimal->epsilon < sum.epsilon ? *optimal : sum;
  }

  /// The composition at exposure.delta, unless the sum is at least as good in both numbers.
  std::optional<Claim> composed(const Claim& sum, std::uint64_t reports) const {
    if (reports == 0 || !std::isfinite(guarantee_.epsilon)) return std::nullopt;
    Claim claim = sum;
    claim.delta = exposure_.delta;
    const std::uint64_t units = by_weight() ? guarantee_.units : 1;
    // One release composes with nothing; only Gaussian noise has another epsilon at another delta.
    if (units * reports < 2 && guarantee_.gaussian_ratio == 0.0) return std::nullopt;
    if (pure()) {
      const double unit = by_weight() ? guarantee_.unit_epsilon : guarantee_.epsilon;
      claim.epsilon = optimal_epsilon(unit, units * reports, exposure_.delta);
      claim.theorem = "optimal composition of " + with_commas(units * reports) +
                      " releases of epsilon " + short_number(unit) +
                      " (Kairouz, Oh, Viswanath 2015)";
    } else {
      const PrivacyLoss loss = loss_of(mechanism_).times(reports);
      // A delta that stands for arithmetic alone is inside the loss; Gaussian noise has both.
      const double coupling =
          guarantee_.gaussian_ratio > 0.0
              ? exact::multiply_up(mechanism_.background(0, mechanism_.outputs()).coupling,
                                   static_cast<double>(reports))
              : 0.0;
      claim.epsilon = coupled_epsilon([&](double delta) { return loss.epsilon(delta); },
                                      exposure_.delta, coupling)
                          .value_or(std::numeric_limits<double>::infinity());
      claim.theorem = "composition of " + counted(reports, "report") + " by their privacy loss";
    }
    if (!std::isfinite(claim.epsilon)) return std::nullopt;  // delta is below what reports cost
    if (claim.epsilon >= sum.epsilon && claim.delta >= sum.delta) return std::nullopt;
    return claim;
  }

  /// What the authors claim, in scopes of its own: never taken for ours.
  void published() {
    const auto info = find_mechanism(name_);
    const std::string source = info ? std::string((*info)->reference) : "its authors";
    if (guarantee_.claimed_epsilon < guarantee_.unit_epsilon) {
      add({"as published, one " + guarantee_.unit, guarantee_.claimed_epsilon, guarantee_.delta,
           "the claim of the authors of " + name_,
           "it does not hold: the exact value is " + short_number(guarantee_.unit_epsilon),
           source});
    }
    if (info && !(*info)->published_client_claim.empty()) {
      add({"as published, client", guarantee_.claimed_epsilon, guarantee_.delta,
           "the claim of its authors; not proven at these sizes",
           std::string((*info)->published_client_claim), source});
    }
  }

  std::string shuffler_assumption(double coupling) const {
    std::string text =
        "a shuffler that keeps order and senders secret and does not work with the server; every "
        "batch that reaches the server has the reports of " +
        sizes() + "; the server may know the data of all other clients";
    if (exposure_.sampling < 1.0) {
      text += "; nobody sees who was picked (probability " + short_number(exposure_.sampling) + ')';
    }
    if (coupling > 0.0) {
      text +=
          "; the sampler's floating point costs a part of delta (a report leaves its exact law "
          "in one of these batches with probability at most " +
          two_digits_up(coupling) + ')';
    }
    return text;
  }

  /// "100 clients" or "80 to 100 clients"
  std::string sizes() const {
    const std::uint64_t least = exposure_.batches.begin()->first;
    const std::uint64_t most = exposure_.batches.rbegin()->first;
    if (least == most) return counted(most, "client");
    return with_commas(least) + " to " + counted(most, "client");
  }

  std::string split_words() const {
    const std::uint64_t split = exposure_.split;
    if (!by_weight() || split == 0 || split >= mechanism_.outputs()) return "whole reports";
    return split == 1 ? "single weights" : "chunks of " + with_commas(split) + " weights";
  }

  void shuffled(const Claim& local, bool released,
                ShuffledEpsilon (*amplify)(const Mechanism&, const Exposure&)) {
    Claim claim = local;
    claim.scope += kShuffled;
    if (!released) {
      claim.epsilon = 0.0;
      claim.delta = 0.0;
      claim.theorem = "the shuffler released nothing";
      claim.assumption = "a shuffler that does not work with the server";
      add(std::move(claim));
      return;
    }
    if (!std::isfinite(local.epsilon)) {
      claim.theorem = "shuffling hides nothing that no mechanism hides";
      add(std::move(claim));
      return;
    }
    const ShuffledEpsilon answer = amplify(mechanism_, exposure_);
    // A gain of less than a part in a thousand is not worth an assumption.
    if (answer.epsilon && *answer.epsilon < 0.999 * local.epsilon) {
      claim.epsilon = *answer.epsilon;
      claim.delta = exposure_.delta;
      claim.theorem = "shuffling of " + split_words() +
                      " among reports with a common background, composed over chunks" +
                      (local.scope == kRound ? "" : " and rounds");
      claim.assumption = shuffler_assumption(answer.coupling);
      if (local.assumption != kNoAssumption)
        claim.assumption = local.assumption + "; " + claim.assumption;
    } else {
      claim.theorem = "no gain from the shuffler: " +
                      (answer.epsilon ? "batches of " + sizes() + " are too small" : answer.reason);
    }
    add(std::move(claim));
  }

  void audited() {
    if (!exposure_.audited_epsilon) return;
    // A pure bound may exceed an epsilon that holds at a delta: the sum is what it must not pass.
    double proven = 0.0;
    for (const Claim& claim : claims_) {
      if (claim.scope == kTraining) proven = std::max(proven, claim.epsilon);
    }
    const double found = *exposure_.audited_epsilon;
    const std::string confidence = short_number(100.0 * exposure_.audit_confidence) + " %";
    add({"audited, whole training", found, 0.0, "lower bound with confidence " + confidence,
         found > proven ? "VIOLATED: the attack found more than the proven epsilon " +
                              short_number(proven) + ", so the proof or the program is wrong"
                        : "what an attack on this training found; others may find more",
         kOurs});
  }

  const Mechanism& mechanism_;
  const Exposure& exposure_;
  Guarantee guarantee_;
  std::string name_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> claims_of(const Mechanism& mechanism, const Exposure& exposure) {
  return ClaimTable(mechanism, exposure).make();
}

bool promises_client(std::string_view scope) {
  return scope == kTraining || scope == std::string(kTraining) + kShuffled;
}

const Claim* client_claim(const std::vector<Claim>& claims) {
  const Claim* best = nullptr;
  for (const Claim& claim : claims) {
    if (!promises_client(claim.scope)) continue;
    if (best == nullptr || claim.epsilon < best->epsilon) best = &claim;
  }
  return best;
}

}  // namespace sotto
