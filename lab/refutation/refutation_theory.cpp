// Claims that do not follow: theorems whose proofs miss the worst case, bounds used where they do
// not hold, and parameters of another definition read as an epsilon.
#include <algorithm>
#include <cmath>

#include "audit/binomial_draw.h"
#include "base/text.h"
#include "refutation/refutation_cases.h"
#include "sotto/account.h"

namespace sotto::refutation {
namespace {

double grown(double epsilon) { return std::exp(epsilon); }

/// Ones among the reports of binary randomized response, where `same` clients hold 0, and in the
/// second world `others` further ones hold 1 instead of 0.
Draw count_ones(double epsilon, std::uint64_t same, std::uint64_t others) {
  const double flip = 1.0 / (grown(epsilon) + 1.0), keep = 1.0 - flip;
  const auto zero = std::make_shared<CountTable>(CountTable::binomial(same + others, flip, keep));
  const auto rest = std::make_shared<CountTable>(CountTable::binomial(same, flip, keep));
  const auto own = std::make_shared<CountTable>(CountTable::binomial(others, keep, flip));
  return [zero, rest, own](bool input, BitSource& bits) {
    return static_cast<double>(input ? rest->draw(bits) + own->draw(bits) : zero->draw(bits));
  };
}

}  // namespace

RefutationCase ldpfl_2() {
  constexpr std::size_t kFeatures = 1024, kBits = 10;
  const Parameters parameters = {
      {"epsilon", 0.5}, {"coefficient", 10.0}, {"whole", 4.0}, {"fraction", 5.0}};
  const auto mechanism = made("ldpfl-2", kFeatures, {0.0, 1.0}, parameters);
  RefutationCase row;
  row.paper = "LDPFL";
  row.where = "Theorem 2";
  row.claim = "epsilon = 0.5 for the 10,240 bits of a record, alpha = 10";
  row.claimed = 0.5;
  row.exact = mechanism->guarantee().epsilon;
  row.derived = "the sum over all bits of the larger of the two log-ratios";
  row.event = "more than a quarter of all bits are ones at even positions";
  row.why =
      "the proof lets a ratio above one at even bits cancel one below one at odd bits; two records "
      "can differ in every bit, and the worst output counts";
  row.trials = 40'000;
  row.audit = by_event(
      [mechanism](bool input, BitSource& bits) {
        const float value = input ? -16.0F : 0.0F;  // all bits set, the sign's too; none
        const auto report = report_of(*mechanism, std::vector<float>(kFeatures, value), bits);
        double ones = 0.0;
        for (std::size_t i = 0; i < report.size(); i += 2) ones += static_cast<double>(report[i]);
        return ones;
      },
      kFeatures * kBits / 4.0);
  row.remedy = "ldpfl-exact";
  row.remedy_claimed = 0.5;
  row.remedy_trials = 10'000;
  row.remedy_audit = by_likelihood(made("ldpfl-exact", kFeatures, {0.0, 1.0},
                                        {{"epsilon", 0.5}, {"whole", 4.0}, {"fraction", 5.0}}));
  return row;
}

RefutationCase ldpfl_1() {
  const Parameters two_bits = {{"epsilon", 0.5}, {"whole", 1.0}, {"fraction", 0.0}};
  Parameters parameters = two_bits;
  parameters["coefficient"] = 10.0;
  const auto mechanism = made("ldpfl-1", 1, {0.0, 1.0}, parameters);
  RefutationCase row;
  row.paper = "LDPFL";
  row.where = "Theorem 1";
  row.claim = "epsilon = 0.5 for any number of bits, here two, alpha = 10";
  row.claimed = 0.5;
  row.exact = mechanism->guarantee().epsilon;
  row.derived = "the sum over both bits of the larger of the two log-ratios";
  row.event = "both bits are ones";
  row.why =
      "the proof bounds one fixed pattern of differing bits; two records can differ in all of "
      "them, which nearly doubles epsilon";
  row.trials = 4'000'000;
  row.audit = by_event(
      [mechanism](bool input, BitSource& bits) {
        const auto report = report_of(*mechanism, {input ? -2.0F : 0.0F}, bits);
        return static_cast<double>(report[0] + report[1]);
      },
      1.5);
  row.remedy = "rr-bits";
  row.remedy_claimed = 0.5;
  row.remedy_trials = 400'000;
  row.remedy_audit = by_likelihood(made("rr-bits", 1, {0.0, 1.0}, two_bits));
  return row;
}

RefutationCase alpha() {
  constexpr double kAlpha = 1.0 / (80.0 * 29'034.0);  // of a parameter in a round
  const auto mechanism = made("em", 1, {0.0, 1.0}, {{"alpha", kAlpha}, {"precision", 10.0}});
  RefutationCase row;
  row.paper = "LDP-Fed";
  row.where = "section 4";
  row.claim = "a privacy budget of alpha = 1 in all: 4.3e-7 for each parameter and round";
  row.claimed = 1.0;
  row.exact = mechanism->guarantee().unit_epsilon;
  row.derived = "alpha D / 2 for one parameter in one round, D = 2 * 10^10 grid steps";
  row.event = "the value sent is positive";
  row.why =
      "alpha is a loss for one grid step and the grid has 2 * 10^10: as an epsilon it is about "
      "4,305 for "
      "each parameter in each round, and 10^10 in all";
  row.trials = 400'000;
  row.audit = by_event(
      [mechanism](bool input, BitSource& bits) {
        return static_cast<double>(report_of(*mechanism, {input ? 1.0F : -1.0F}, bits)[0]);
      },
      0.0);
  row.remedy = "em at epsilon 1";
  row.remedy_claimed = 1.0;
  row.remedy_trials = 1'000'000;
  row.remedy_audit =
      by_likelihood(made("em", 4096, {0.0, 1.0}, {{"epsilon", 1.0}, {"precision", 4.0}}));
  return row;
}

RefutationCase k_of_n() {
  constexpr double kEpsilon = 3.0, kPart = 9.0 / 50.0;
  const auto mechanism = made("em", 1, {0.0, 1.0}, {{"epsilon", kEpsilon}, {"precision", 2.0}});
  RefutationCase row;
  row.paper = "LDP-Fed";
  row.where = "section 3, choice of k clients";
  row.claim = "k = 9 of N = 50 clients in a round multiply the budget by 9/50: 3 becomes 0.54";
  row.claimed = kPart * kEpsilon;
  row.exact = kEpsilon;
  row.derived = "no amplification where the server sees who sends; ln(1 + 9/50 (e^3 - 1)) = " +
                short_number(std::round(1e4 * std::log1p(kPart * std::expm1(kEpsilon))) / 1e4) +
                " where nobody does";
  row.event = "the client was picked and sent a value above 0.7";
  row.why =
      "whoever is picked sends a report with its full loss; even hidden picks give ln(1 + q(e^eps "
      "- "
      "1)), which is q eps for small eps only";
  row.trials = 1'000'000;
  const Draw draw = [mechanism](bool input, BitSource& bits) {
    if (bits.unit() >= kPart) return -1e9;
    return static_cast<double>(report_of(*mechanism, {input ? 1.0F : -1.0F}, bits)[0]);
  };
  row.audit = by_event(draw, 70.5);
  row.remedy = "the report's own epsilon";
  row.remedy_claimed = kEpsilon;
  row.remedy_trials = row.trials;
  row.remedy_audit = row.audit;
  return row;
}

RefutationCase shuffle_bound() {
  constexpr double kEpsilon = 8.0;
  constexpr std::uint64_t kClients = 10'000;
  RefutationCase row;
  row.paper = "SRR-FL";
  row.where = "section 5.1";
  row.delta = 1e-6;
  const auto bound = [&](double epsilon, double clients) {
    return 12.0 * epsilon * std::sqrt(std::log(1.0 / row.delta) / clients);
  };
  row.claim =
      "shuffling brings epsilon = 8 of 10,000 clients to 12 eps sqrt(ln(1/delta)/N), delta 1e-6";
  row.claimed = bound(kEpsilon, static_cast<double>(kClients));
  row.exact = PrivacyLoss::shuffled_binary(kEpsilon, kClients).epsilon(row.delta);
  row.derived = "binary reports, all others with the same value: exact";
  row.event = "some report has the rarer value";
  row.why =
      "proven for eps <= 1/2 and N >= 1,000 only; at the paper's eps = 5 and N = 100 it gives " +
      short_number(std::round(10.0 * bound(5.0, 100.0)) / 10.0) +
      ", worse than no shuffling, and for larger eps it is too small";
  row.trials = 20'000'000;
  row.audit = by_event(count_ones(kEpsilon, kClients - 1, 1), 0.5);
  row.remedy = "the numerical bound";
  row.remedy_claimed = PrivacyLoss::shuffled({kEpsilon, 0.0, 0.0}, kClients).epsilon(row.delta);
  row.remedy_trials = row.trials;
  row.remedy_audit = row.audit;
  return row;
}

RefutationCase parameter_shuffling() {
  constexpr double kEpsilon = 1.0;
  constexpr std::uint64_t kClients = 100, kWeights = 20'490;
  RefutationCase row;
  row.paper = "LDP-FL, SRR-FL";
  row.where = "parameter shuffling; section 5.1";
  row.claim =
      "each of 20,490 weights shuffled alone among 100 clients: a client's epsilon stays that of "
      "one weight, 1";
  row.claimed = kEpsilon;
  row.delta = 1e-6;
  row.exact = PrivacyLoss::shuffled_binary(kEpsilon, kClients).times(kWeights).epsilon(row.delta);
  row.derived = "the loss of one shuffled weight, exact, composed 20,490 times";
  row.event = "more ones among all shuffled reports of all weights than half-way between the means";
  row.why =
      "every weight is one more batch with the same client in it: losses compose over weights "
      "whether or not reports can be linked";
  row.trials = 2'000'000;
  const double flip = 1.0 / (grown(kEpsilon) + 1.0);
  const auto weights = static_cast<double>(kWeights);
  const double mean = weights * static_cast<double>(kClients) * flip;
  row.audit = by_event(count_ones(kEpsilon, kWeights * (kClients - 1), kWeights),
                       mean + weights * (0.5 - flip));
  row.remedy = "ldp-sgd, all weights";
  row.remedy_claimed = kEpsilon;
  row.remedy_trials = 20'000;
  row.remedy_audit =
      by_likelihood(made("ldp-sgd", kWeights, {0.0, 1.0}, {{"epsilon", kEpsilon}, {"norm", 1.0}}));
  return row;
}

}  // namespace sotto::refutation
