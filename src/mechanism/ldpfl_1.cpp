// `ldpfl-1`: the randomizer of LDPFL's Theorem 1, as published. With x = eps / (B/2) for B bits and
// the coefficient alpha,
//
//   P(1|1) = 1 / (1 + alpha), P(0|0) = alpha e^x / (1 + alpha e^x).
//
// Exactly: a bit's log-ratios are ln P(1|1)/P(1|0) = ln((1 + alpha e^x) / (1 + alpha)) and
// ln P(0|0)/P(0|1) = x minus that. Their sum is x, so the larger one lies in [x/2, x], and over B
// bits the exact epsilon lies in [eps, 2 eps]: 2 eps alpha / (1 + alpha) for small x and alpha > 1.
#include "mechanism/ldpfl.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon, kCoefficient, kWhole, kFraction};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  SOTTO_TRY(BitDesign design, ldpfl_design("ldpfl-1", "Theorem 1", domain, parameters));
  const exact::Rational alpha = exact::rational(get(parameters, "coefficient"));
  design.thresholds =
      BitThresholds::everywhere(nearest_threshold(alpha), ldpfl_zero(design, alpha));
  return BitMechanism::make("ldpfl-1.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration ldpfl_1_registration = {
    .info =
        {.name = "ldpfl-1",
         .kind = MechanismKind::kBits,
         .summary = "LDPFL's first randomizer, as published; its exact epsilon is up to twice "
                    "the claimed one",
         .input = "features in sign-magnitude (whole, fraction), or bits without those",
         .output = "one bit for each bit of the code",
         .guarantee = "between epsilon and 2 epsilon for the whole report, computed exactly",
         .unbiased = true,
         .bias = "unbiased for each bit",
         .reference = "Chamikara et al. 2022 (LDPFL), Theorem 1",
         .published_client_claim =
             "Theorem 1, whose proof multiplies the ratios of favourable and unfavourable bits: it "
             "needs that two inputs differ in as many bits of either kind, and that the output "
             "is not the worst one",
         .parameters = kParameters},
    .make = make};

}  // namespace sotto
