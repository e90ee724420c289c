// What public code draws, against what its paper says of it.
#include <cmath>
#include <limits>

#include "published/samplers.h"
#include "published/srr_fl.h"
#include "refutation/refutation_cases.h"

namespace sotto::refutation {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRadius = 750;  // r = 0.075 at four decimals
const Range kRange{0.0, 0.075};
constexpr std::size_t kWeights = 4096;  // trials of one report of a value mechanism

/// Every 50th value of the grid.
std::vector<std::int64_t> spread() {
  std::vector<std::int64_t> inputs;
  for (std::int64_t i = -kRadius; i <= kRadius; i += 50) inputs.push_back(i);
  return inputs;
}

RefutationCase of_srr_code() {
  RefutationCase row;
  row.paper = "SRR-FL";
  row.where = "public code; Theorem 5.1";
  row.claimed = 5.0;
  return row;
}

RunAudit sound_srr(double groups, double step) {
  return by_likelihood(
      made("srr", kWeights, kRange,
           {{"epsilon", 5.0}, {"precision", 4.0}, {"groups", groups}, {"step", step}}));
}

}  // namespace

RefutationCase srr_remainder() {
  const auto code =
      std::make_shared<PublishedSrr>(kRadius, 40, 0, 5.0, PublishedSrr::Sampler::kRanks);
  RefutationCase row = of_srr_code();
  row.claim = "epsilon = 5 for a weight, r = 0.075, p = 4, m = 40 groups of equal size";
  row.exact = code->epsilon(spread());
  row.derived = "enumeration of the distribution that is drawn: 20 of 1,501 outputs are impossible";
  row.event = "one of the 20 highest values";
  row.why =
      "group sizes are rounded down and what is missing is put on group 1; the outputs farthest "
      "from a weight are never drawn (at m = 10 the sizes happen to add up)";
  row.trials = 4'000'000;
  // From the low end the 20 highest values are the farthest; from the high end they are the
  // nearest.
  row.audit = by_event(
      [code](bool input, BitSource& bits) {
        return static_cast<double>(code->draw(input ? kRadius : -kRadius, bits));
      },
      2.0 * static_cast<double>(kRadius - code->missing()) + 1.0);
  row.remedy = "srr";
  row.remedy_claimed = 5.0;
  row.remedy_trials = row.trials;
  row.remedy_audit = sound_srr(40.0, 0.0);
  return row;
}

RefutationCase srr_half_grid() {
  const auto code =
      std::make_shared<PublishedSrr>(kRadius, 10, 20, 5.0, PublishedSrr::Sampler::kHalves);
  RefutationCase row = of_srr_code();
  row.claim = "epsilon = 5 for a weight, r = 0.075, p = 4, m = 10, Delta = 20";
  row.exact = code->epsilon({-kRadius, 0});
  row.derived = "enumeration of the distribution that is drawn: outputs between grid values";
  row.event = "the value lies between two values of the grid";
  row.why =
      "the second sampler of the code halves a group of odd size: around a weight in the middle "
      "outputs lie between grid values, around one at the end on them";
  row.trials = 1'000'000;
  row.audit = by_event(
      [code](bool input, BitSource& bits) {
        return code->draw(input ? 0 : -kRadius, bits) % 2 != 0 ? 1.0 : 0.0;
      },
      0.5);
  row.remedy = "srr";
  row.remedy_claimed = 5.0;
  row.remedy_trials = row.trials;
  row.remedy_audit = sound_srr(10.0, 20.0);
  return row;
}

RefutationCase two_point_unclipped() {
  const PublishedTwoPoint code{kRange, 1.0};
  const double certain = kRange.radius / std::tanh(0.5);  // where the answer becomes certain
  RefutationCase row;
  row.paper = "LDP-FL";
  row.where = "Algorithm 2; public code";
  row.claim = "epsilon = 1 for a weight, whatever its value, r = 0.075";
  row.claimed = 1.0;
  row.exact = code.loss(certain, -certain);
  row.derived = "probabilities of the upper point are 1 and 0 at +-0.1623";
  row.event = "the upper point";
  row.why =
      "the algorithm does not clip: weights outside the range, which training makes, have "
      "probabilities "
      "outside those that epsilon allows (1.71 at 1.5 r, infinite from 2.16 r on)";
  row.trials = 1'000'000;
  row.audit = by_event(
      [code, certain](bool input, BitSource& bits) {
        return code.draw(input ? certain : -certain, bits) ? 1.0 : 0.0;
      },
      0.5);
  row.remedy = "two-point, clipped";
  row.remedy_claimed = 1.0;
  row.remedy_trials = row.trials;
  row.remedy_audit = by_likelihood(made("two-point", kWeights, kRange, {{"epsilon", 1.0}}));
  return row;
}

RefutationCase grr_raw() {
  const PublishedGrr code{kRange, 3.0, 4};
  RefutationCase row;
  row.paper = "SRR-FL";
  row.where = "public code, its GRR";
  row.claim = "epsilon = 3 for a weight, r = 0.075, p = 4";
  row.claimed = 3.0;
  row.exact = kInfinite;
  row.derived = "an answer off the grid is the weight itself: impossible for every other weight";
  row.event = "the value sent is 0.0123456";
  row.why =
      "where the weight is kept, the code returns it as it is, not its grid value: one report in "
      "76 "
      "is the raw weight";
  row.trials = 4'000'000;
  row.audit = by_event(
      [code](bool input, BitSource& bits) {
        constexpr double kOwn = 0.0123456, kOther = 0.0123401;  // of one grid value
        return code.draw(input ? kOwn : kOther, bits) == kOwn ? 1.0 : 0.0;
      },
      0.5);
  row.remedy = "grr";
  row.remedy_claimed = 3.0;
  row.remedy_trials = row.trials;
  row.remedy_audit =
      by_likelihood(made("grr", kWeights, kRange, {{"epsilon", 3.0}, {"precision", 4.0}}));
  return row;
}

RefutationCase batch_norm() {
  // A client of CIFAR-10 among 100 has 500 records. Two clients whose activations have another
  // mean.
  PublishedRunningMean one, other;
  BitSource data = BitSource::from_seed(1, "activations");
  for (int i = 0; i < 500; ++i) {
    one.records.push_back(data.normal());
    other.records.push_back(one.records.back() + 1.0);
  }
  const double between = (one.largest() + other.least()) / 2.0;
  RefutationCase row;
  row.paper = "SRR-FL";
  row.where = "public code, CIFAR-10; section 4";
  row.claim = "client-level privacy, epsilon = 5, for what a client sends";
  row.claimed = 5.0;
  row.exact = one.largest() < other.least() ? kInfinite : 0.0;
  row.derived = "the largest running mean of one client is below the least of the other";
  row.event = "the running mean is above half-way between the two clients'";
  row.why =
      "only what a gradient trains is perturbed; running means and variances of batch norm are "
      "sent and averaged as they are";
  row.trials = 200'000;
  const Draw running = [one, other](bool input, BitSource& bits) {
    return (input ? other : one).draw(bits);
  };
  row.audit = by_event(running, between);
  const auto mechanism = made("two-point", 1, {0.0, 1.0}, {{"epsilon", 5.0}});
  row.remedy = "two-point on the mean";
  row.remedy_claimed = 5.0;
  row.remedy_trials = row.trials;
  row.remedy_audit = by_event(
      [mechanism, running](bool input, BitSource& bits) {
        const auto mean = static_cast<float>(running(input, bits));
        return static_cast<double>(report_of(*mechanism, {mean}, bits)[0]);
      },
      0.5);
  return row;
}

}  // namespace sotto::refutation
