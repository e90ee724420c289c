// `rr-bits`: symmetric randomized response on each of the B bits of a report, the baseline that
// ldpfl compares itself with: every bit is told truthfully with probability
// p = e^(eps/B) / (1 + e^(eps/B)).
//
// Two inputs can differ in all B bits, each of which contributes ln(p / (1 - p)) = eps / B: eps in
// all. In integers: x is the greatest double not above eps / B and p the largest T / 2^64 with
// T <= e^x (2^64 - T), so the sum is at most B x <= eps, in exact arithmetic.
#include <algorithm>

#include "mechanism/bit/bit.h"

namespace sotto {
namespace {

constexpr ParameterInfo kParameters[] = {kEpsilon, kWhole, kFraction};

Result<std::unique_ptr<Mechanism>> make(Domain domain, const Parameters& parameters) {
  BitDesign design;
  SOTTO_TRY(design.code, feature_code("rr-bits", domain, parameters));
  design.claimed = get(parameters, "epsilon");
  const auto bits = static_cast<double>(std::max<std::size_t>(1, design.code.bits()));
  const std::uint64_t truth = largest_threshold(exact::divide_down(design.claimed, bits));
  design.thresholds = BitThresholds::everywhere(truth, 0 - truth);
  design.statement = "pure local differential privacy for all bits of a report together";
  return BitMechanism::make("rr-bits.v1", std::move(domain), parameters, std::move(design));
}

}  // namespace

const Registration rr_bits_registration = {
    .info = {.name = "rr-bits",
             .kind = MechanismKind::kBits,
             .summary = "randomized response on every bit, epsilon split evenly over them",
             .input = "features in sign-magnitude (whole, fraction), or bits without those",
             .output = "one bit for each bit of the code",
             .guarantee = "epsilon-LDP for the whole report",
             .unbiased = true,
             .bias = "unbiased for each bit",
             .reference = "Chamikara et al. 2022 (LDPFL), eq. 11; Warner 1965",
             .parameters = kParameters},
    .make = make};

}  // namespace sotto
