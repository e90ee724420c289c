// The table of claims. A client sends all its weights, in every round that it takes part in, and
// both compose: sequentially (the sum, delta 0 for pure mechanisms) and optimally (less, at a
// delta). A shuffler lowers what the server learns; it is never taken to make things worse, since
// the server could as well have been given the reports with their names.
//
// A training may have several turns: rounds that differ in what is sent. A claim about one round is
// that of the worst turn; one about the training adds up or composes all of them.
#include "sotto/claims.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "account/releases.h"
#include "account/shuffled/sampled_claim.h"
#include "account/shuffled/shuffled_claim.h"
#include "account/shuffled/shuffler_words.h"
#include "base/exact/exact.h"
#include "base/text.h"

namespace sotto {
namespace {

/// Claims that count on fewer honest members, and the share of honest ones among the others.
constexpr std::pair<double, Colluders> kColluding[] = {{0.9, Colluders::kTenth},
                                                       {0.5, Colluders::kHalf}};

/// What the guarantee of a mechanism's unit is about.
Unit unit_of(const Guarantee& guarantee) {
  switch (guarantee.unit) {
    case GuaranteeUnit::kWeight:
      return Unit::kWeight;
    case GuaranteeUnit::kVector:
      return Unit::kVector;
    case GuaranteeUnit::kReport:
      break;
  }
  return Unit::kReport;
}

class ClaimTable {
 public:
  explicit ClaimTable(const Exposure& exposure) : exposure_(exposure) {
    for (const Turn& turn : exposure.turns) {
      costs_.push_back(cost_of(turn));
      add(all_, costs_.back().kinds, turn.rounds);
    }
    for (const auto& mechanism : exposure.mechanisms()) {
      const std::string id(mechanism->id());
      used_.push_back({id.substr(0, id.rfind(".v")), mechanism->guarantee(), mechanism->outputs()});
    }
  }

  std::vector<Claim> make() {
    one_weight();
    const Claim round = local(Period::kRound);
    const Claim training = local(Period::kTraining);
    published();
    if (exposure_.shuffle != ShuffleMode::kShuffler && exposure_.hidden()) {
      for (Claim& claim : sampled_claims(exposure_)) claims_.push_back(std::move(claim));
    }
    if (exposure_.shuffle != ShuffleMode::kNone) {
      const auto batches = exposure_.batches();
      const bool released =
          std::ranges::any_of(batches, [](const auto& batch) { return batch.second > 0; });
      shuffled(round, released, exposure_, shuffled_round);
      const bool sent = released && exposure_.rounds() > 0;
      shuffled(training, sent, exposure_, shuffled_training);
      if (!delayed() && sent) {
        colluding(training);
        against_noise(training);
      }
    }
    audited();
    return std::move(claims_);
  }

 private:
  struct Used {
    std::string name;
    Guarantee guarantee;
    std::uint64_t outputs = 0;
    bool by_weight() const { return guarantee.unit == GuaranteeUnit::kWeight; }
  };

  /// The one mechanism of a training that has no other but its variants, of these the worst.
  const Used* single() const {
    if (costs_.size() != 1 || costs_[0].reports != 1) return nullptr;
    return &*std::ranges::max_element(used_, {},
                                      [](const Used& used) { return used.guarantee.epsilon; });
  }
  std::uint64_t weights() const {
    std::uint64_t most = 0;
    for (const RoundCost& cost : costs_) most = std::max(most, cost.weights);
    return most;
  }

  void one_weight() {
    const Used* worst = nullptr;
    for (const Used& used : used_) {
      if (!used.by_weight()) continue;
      if (!worst || used.guarantee.unit_epsilon > worst->guarantee.unit_epsilon) worst = &used;
    }
    if (worst == nullptr) return;
    claims_.push_back({{.unit = Unit::kWeight, .period = Period::kRound},
                       worst->guarantee.unit_epsilon,
                       worst->guarantee.delta,
                       worst->guarantee.statement,
                       "about one of the " + with_commas(weights()) +
                           " weights alone, which is not what a client sends"});
  }

  /// "20,490 weights and 10 rounds"
  std::string what_composes(bool one_round) const {
    if (costs_.size() > 1) {
      return one_round ? "all that is sent in the round that costs most"
                       : with_commas(costs_.size()) + " kinds of rounds, " +
                             counted(exposure_.rounds(), "round") + " in all";
    }
    std::string text = weights() > 0 ? counted(weights(), "weight") : "";
    if (costs_[0].reports > 1) {
      text += (text.empty() ? "" : " of ") + counted(costs_[0].reports, "report");
    }
    if (!one_round) text += (text.empty() ? "" : " and ") + counted(exposure_.rounds(), "round");
    return text;
  }

  /// Both ways to compose; returns the one with the smaller epsilon.
  Claim local(Period period) {
    const bool one_round = period == Period::kRound;
    const std::uint64_t rounds = one_round ? 1 : exposure_.rounds();
    const std::string assumption =
        one_round || exposure_.every_round
            ? ""
            : "for a client that takes part in " + counted(rounds, "round") + ", the most of any";
    Claim sum{{.period = period}, 0.0, 0.0, "", assumption};
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      const auto times = static_cast<double>(exposure_.turns[i].rounds);
      if (one_round) {
        sum.epsilon = std::max(sum.epsilon, costs_[i].epsilon);
        sum.delta = std::max(sum.delta, costs_[i].delta);
      } else if (times > 0.0) {
        sum.epsilon = exact::add_up(sum.epsilon, exact::multiply_up(costs_[i].epsilon, times));
        sum.delta = exact::add_up(sum.delta, exact::multiply_up(costs_[i].delta, times));
      }
    }
    sum.delta = std::min(1.0, sum.delta);
    const Used* const only = single();
    sum.theorem = rounds == 0 || costs_.empty() ? "no report was sent"
                  : one_round && only && !only->by_weight()
                      ? only->guarantee.statement
                      : "sum over " + what_composes(one_round) + " (sequential composition)";
    claims_.push_back(sum);
    const std::optional<Claim> optimal = one_round ? worst_round(sum) : composed(sum, all_);
    if (!optimal) return sum;
    claims_.push_back(*optimal);
    return optimal->epsilon < sum.epsilon ? *optimal : sum;
  }

  /// The composition at exposure.delta, unless the sum is at least as good in both numbers.
  std::optional<Claim> composed(const Claim& sum, const std::vector<ReleaseKind>& kinds) const {
    if (!composes(kinds)) return std::nullopt;
    Claim claim = sum;
    claim.delta = exposure_.delta;
    claim.epsilon = composed_epsilon(kinds, exposure_.delta);
    const std::string count = with_commas(count_of(kinds));
    if (kinds.size() > 1) {
      claim.theorem = "composition of " + count + " releases of " + counted(kinds.size(), "kind") +
                      " by the distribution of their summed privacy loss";
    } else if (kinds[0].pure()) {
      claim.theorem = "optimal composition of " + count + " releases of epsilon " +
                      short_number(kinds[0].epsilon) + " (Kairouz, Oh, Viswanath 2015)";
    } else {
      claim.theorem =
          "composition of " + counted(kinds[0].count, "report") + " by their privacy loss";
    }
    if (!std::isfinite(claim.epsilon)) return std::nullopt;  // delta is below what reports cost
    if (claim.epsilon >= sum.epsilon && claim.delta >= sum.delta) return std::nullopt;
    return claim;
  }

  /// The composition of the round that costs most at exposure.delta.
  std::optional<Claim> worst_round(const Claim& sum) const {
    std::optional<Claim> worst;
    for (const RoundCost& cost : costs_) {
      Claim own = sum;
      own.epsilon = cost.epsilon;
      own.delta = cost.delta;
      std::optional<Claim> better = composed(own, cost.kinds);
      // A turn that gains nothing keeps its sum; beyond delta, nothing is said of any.
      if (!better && cost.delta <= exposure_.delta) better = own;
      if (!better || !std::isfinite(better->epsilon)) return std::nullopt;
      if (!worst || better->epsilon > worst->epsilon) worst = better;
    }
    if (!worst) return std::nullopt;
    worst->delta = exposure_.delta;
    if (worst->epsilon >= sum.epsilon && worst->delta >= sum.delta) return std::nullopt;
    return worst;
  }

  /// What the authors claim, never taken for ours. Of each mechanism once, with the largest numbers
  /// of its uses.
  void published() {
    std::vector<std::string> told;
    for (const Used& used : used_) {
      if (std::ranges::find(told, used.name) != told.end()) continue;
      told.push_back(used.name);
      const Used* broken = nullptr;
      double claimed = 0.0;
      for (const Used& other : used_) {
        if (other.name != used.name) continue;
        const Guarantee& guarantee = other.guarantee;
        claimed = std::max(claimed, guarantee.claimed_epsilon);
        if (guarantee.claimed_epsilon < guarantee.unit_epsilon &&
            (!broken || guarantee.unit_epsilon > broken->guarantee.unit_epsilon)) {
          broken = &other;
        }
      }
      const auto info = find_mechanism(used.name);
      const std::string authors = info ? std::string((*info)->reference) : "its authors";
      if (broken != nullptr) {
        const Guarantee& guarantee = broken->guarantee;
        claims_.push_back(
            {{.unit = unit_of(guarantee), .period = Period::kRound},
             guarantee.claimed_epsilon,
             guarantee.delta,
             "the claim of the authors of " + used.name,
             "it does not hold: the exact value is " + short_number(guarantee.unit_epsilon),
             Status::kPublished,
             authors});
      }
      if (!info || (*info)->published_client_claim.empty()) continue;
      const std::string why((*info)->published_client_claim);
      if (used.guarantee.alpha > 0.0) {
        condensed(why, authors);
      } else {
        claims_.push_back({Scope{}, claimed, used.guarantee.delta,
                           "the claim of its authors; not proven at these sizes", why,
                           Status::kPublished, authors});
      }
    }
  }

  /// Condensed local privacy counts its own parameter alpha, which adds up over weights and rounds.
  void condensed(const std::string& why, const std::string& authors) {
    const double sampling = exposure_.sampling;
    double alpha = 0.0;
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      const Turn& turn = exposure_.turns[i];
      const auto rounds = static_cast<double>(sampling < 1.0 ? all_rounds(turn) : turn.rounds);
      alpha = exact::add_up(alpha, exact::multiply_up(costs_[i].alpha, rounds));
    }
    alpha = exact::multiply_up(alpha, sampling);
    std::string theorem = "alpha-CLDP with alpha = " + short_number(alpha) +
                          " in all: the sum of alpha over weights and rounds";
    std::string assumption = why;
    if (sampling < 1.0) {
      theorem += ", times k/N = " + short_number(sampling);
      assumption +=
          "; that sampling multiplies it by k/N holds for small epsilons alone: in general it "
          "makes ln(1 + (e^epsilon - 1) m/N) of epsilon, where m of N are heard";
    }
    claims_.push_back({Scope{}, alpha, 0.0, theorem, assumption, Status::kPublished, authors});
  }

  bool delayed() const { return exposure_.shuffle == ShuffleMode::kLatency; }

  std::string split_words() const {
    const std::uint64_t split = exposure_.split;
    const bool cut = std::ranges::any_of(
        used_, [split](const Used& used) { return used.by_weight() && split < used.outputs; });
    if (split == 0 || !cut) return "whole reports";
    return split == 1 ? "single weights" : "chunks of " + with_commas(split) + " weights";
  }

  void shuffled(const Claim& local, bool released, const Exposure& exposure,
                ShuffledEpsilon (*amplify)(const Exposure&),
                Colluders colluders = Colluders::kNone) {
    Claim claim = local;
    claim.scope.view = delayed() ? View::kDelays : View::kShuffler;
    claim.scope.colluders = colluders;
    if (!released) {
      claim.epsilon = 0.0;
      claim.delta = 0.0;
      claim.theorem = delayed() ? "nothing was released" : "the shuffler released nothing";
      claim.assumption = delayed() ? "" : "a shuffler that does not work with the server";
      claims_.push_back(std::move(claim));
      return;
    }
    if (!std::isfinite(local.epsilon)) {
      claim.theorem = "shuffling hides nothing that no mechanism hides";
      claims_.push_back(std::move(claim));
      return;
    }
    const ShuffledEpsilon answer = amplify(exposure);
    // A gain of less than a part in a thousand is not worth an assumption.
    if (answer.epsilon && *answer.epsilon < 0.999 * local.epsilon) {
      claim.epsilon = *answer.epsilon;
      claim.delta = exposure_.delta;
      claim.theorem = "shuffling of " + split_words() +
                      " among reports with a common background, composed over chunks" +
                      (local.scope.period == Period::kRound ? "" : " and rounds");
      claim.assumption = shuffler_assumption(exposure, answer.coupling);
      if (!local.assumption.empty() && !exposure.hidden())
        claim.assumption = local.assumption + "; " + claim.assumption;
    } else {
      claim.theorem =
          (delayed() ? "no gain even from perfect mixing: " : "no gain from the shuffler: ") +
          (answer.epsilon ? "batches of " + batch_sizes(exposure_) + " are too small"
                          : answer.reason);
    }
    claims_.push_back(std::move(claim));
  }

  /// The same where more of a batch's members work with the server than the exposure says.
  void colluding(const Claim& training) {
    for (const auto& [honest, colluders] : kColluding) {
      if (honest >= exposure_.honest) continue;
      Exposure fewer = exposure_;
      fewer.honest = honest;
      shuffled(training, true, fewer, shuffled_training, colluders);
    }
  }

  /// The adjacency that compares with adding or removing a client.
  void against_noise(const Claim& training) {
    if (exposure_.hidden()) return;
    const ShuffledEpsilon answer = shuffled_against_noise(exposure_);
    if (!answer.epsilon || *answer.epsilon >= training.epsilon) return;
    claims_.push_back(
        {{.unit = Unit::kParticipation, .view = View::kShuffler},
         *answer.epsilon,
         exposure_.delta,
         "the same batches, held against those in which the client's reports are pure "
         "noise: for comparison with add/remove adjacency",
         shuffler_assumption(exposure_, answer.coupling)});
  }

  void audited() {
    if (!exposure_.audited_epsilon) return;
    // A pure bound may exceed an epsilon that holds at a delta: the sum is what it must not pass.
    double proven = 0.0;
    for (const Claim& claim : claims_) {
      if (claim.proves(Scope{})) proven = std::max(proven, claim.epsilon);
    }
    const double found = *exposure_.audited_epsilon;
    const std::string confidence = short_number(100.0 * exposure_.audit_confidence) + " %";
    Claim claim{Scope{},
                found,
                0.0,
                "lower bound with confidence " + confidence,
                "what an attack on this training found; others may find more",
                Status::kMeasured};
    if (found > proven) {
      claim.status = Status::kViolated;
      claim.assumption = "VIOLATED: the attack found more than the proven epsilon " +
                         short_number(proven) + ", so the proof or the program is wrong";
    }
    claims_.push_back(std::move(claim));
  }

  const Exposure& exposure_;
  std::vector<RoundCost> costs_;  // one for each turn
  std::vector<ReleaseKind> all_;  // of the whole training
  std::vector<Used> used_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> claims_of(const Exposure& exposure) { return ClaimTable(exposure).make(); }

}  // namespace sotto
