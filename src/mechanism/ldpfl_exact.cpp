// `ldpfl-exact`: LDPFL's task with a claim that is true, and with the label protected too.
//
// The published system sends features under ldpfl-2 and trains on true labels. Here the features'
// B bits share (1 - s) eps evenly by symmetric randomized response, and the label, the last input
// value, has s eps of its own: generalized randomized response over K classes, sent as K bits of
// which one is set. Two inputs can differ in every bit and in the label: B (1-s) eps / B + s eps.
// In integers every part is rounded down (rr_bits.cpp, LabelMasses), so the sum is at most eps.
//
// Utility hangs on B: a bit is flipped with probability 1 / (1 + e^((1-s) eps / B)), close to a
// half unless B is of the order of eps. Hence few features and few bits of each: `whole` and
// `fraction` say which are kept. What a linear model on bits and label learns from is shrunk by
// tanh((1-s) eps / 2B) (e^(s eps) - 1) / (e^(s eps) + K - 1), which is largest at s = 1/2 for small
// eps (and near 0.45 at eps 8, K 10): the default share.
#include <algorithm>

#include "mechanism/bit/bit.h"

namespace sotto {
namespace {

constexpr ParameterInfo kClasses{
    .name = "classes",
    .low = 0.0,
    .high = 65536.0,
    .integer = true,
    .default_value = 0.0,
    .meaning = "classes of the label, which is the last value; 0: none"};
constexpr ParameterInfo kLabelShare{.name = "label_share",
                                    .low = 0.0,
                                    .high = 1.0,
                                    .default_value = 0.5,
                                    .meaning = "share of epsilon for the label, if there is one"};
constexpr ParameterInfo kParameters[] = {kEpsilon, kWhole, kFraction, kClasses, kLabelShare};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  const auto classes = static_cast<std::uint64_t>(get(parameters, "classes"));
  if (classes == 1) {
    return fail(ErrorKind::kUsage,
                "ldpfl-exact: classes = 1; valid: 0, or a whole number in [2, 65536]");
  }
  BitDesign design;
  SOTTO_TRY(design.code, feature_code("ldpfl-exact", domain, parameters, classes));
  design.claimed = get(parameters, "epsilon");
  double for_bits = design.claimed;
  if (classes > 0) {
    // Without features nothing is left to share with.
    const double for_label =
        design.code.bits() == 0
            ? design.claimed
            : std::min(design.claimed * get(parameters, "label_share"), design.claimed);
    design.label = LabelMasses::with(classes, for_label);
    for_bits = -exact::add_up(-design.claimed, for_label);  // the difference, rounded down
  }
  const auto bits = static_cast<double>(std::max<std::size_t>(1, design.code.bits()));
  const std::uint64_t truth = largest_threshold(exact::divide_down(for_bits, bits));
  design.thresholds = BitThresholds::everywhere(truth, 0 - truth);
  design.statement =
      classes > 0
          ? "pure local differential privacy for all bits of a report and the label together"
          : "pure local differential privacy for all bits of a report together";
  return BitMechanism::make("ldpfl-exact.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration ldpfl_exact_registration = {
    .info = {.name = "ldpfl-exact",
             .kind = MechanismKind::kBits,
             .summary = "randomized response on the bits that are kept and on the label",
             .input = "features in sign-magnitude (whole, fraction), or bits without those; with "
                      "classes, a class index as the last value",
             .output = "one bit for each bit of the code, then one for each class",
             .guarantee = "epsilon-LDP for the whole report, label included",
             .unbiased = true,
             .bias = "unbiased for each bit",
             .reference = "this project, after LDPFL; Kairouz, Bonawitz, Ramage 2016 for the label",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
