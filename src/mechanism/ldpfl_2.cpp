// `ldpfl-2`: the randomizer of LDPFL's Theorem 2, as published. With x = eps / (B/2) for B bits and
// the coefficient alpha, P(0|0) = alpha e^x / (1 + alpha e^x) everywhere, and
//
//   P(1|1) = alpha / (1 + alpha) at even positions, 1 / (1 + alpha^3) at odd ones.
//
// Exactly: even bits differ by ln P(0|0)/P(0|1), close to ln alpha, or ln P(1|1)/P(1|0), likewise;
// odd bits by ln P(1|0)/P(1|1), close to 2 ln alpha for large alpha. The sum over the bits hardly
// depends on eps: it is about B (ln alpha + 2 ln alpha) / 2, and 34,885 for the published alpha =
// 10 and B = 10,240 where the theorem claims 0.5.
#include "mechanism/ldpfl.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon, kCoefficient, kWhole, kFraction};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  SOTTO_TRY(BitDesign design, ldpfl_design("ldpfl-2", "Theorem 2", domain, parameters));
  const exact::Rational alpha = exact::rational(get(parameters, "coefficient"));
  const std::uint64_t for_zero = ldpfl_zero(design, alpha);
  // alpha / (1 + alpha) = 1 / (1 + 1/alpha).
  design.thresholds.one[0] = {for_zero, nearest_threshold(1 / alpha)};
  design.thresholds.one[1] = {for_zero, nearest_threshold(alpha * alpha * alpha)};
  return BitMechanism::make("ldpfl-2.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration ldpfl_2_registration = {
    .info =
        {.name = "ldpfl-2",
         .kind = MechanismKind::kBits,
         .summary = "LDPFL's second randomizer, as published; its exact epsilon is thousands of "
                    "times the claimed one",
         .input = "features in sign-magnitude (whole, fraction), or bits without those",
         .output = "one bit for each bit of the code",
         .guarantee = "no useful one: about 3/2 B ln(coefficient) for B bits, computed exactly",
         .unbiased = true,
         .bias = "unbiased for each bit",
         .reference = "Chamikara et al. 2022 (LDPFL), Theorem 2",
         .published_client_claim =
             "Theorem 2, whose proof multiplies the ratios of favourable and unfavourable bits: it "
             "needs that two inputs differ in as many bits of either kind, and that the output "
             "is not the worst one",
         .parameters = kParameters},
    .make = make};

}  // namespace sotto
