// DPSGD: the privacy of single records inside one client's data set.
//
// A step draws every record with probability q, clips their gradients to norm C and adds noise of
// deviation z C to the sum. With or without a record, the sum moves by at most C: a Gaussian pair
// of ratio 1 / z, Poisson sampled, composed over steps by its privacy loss in both directions.
// Whoever sees all steps learns no more; the model after the last one is less.
#include <cmath>
#include <limits>

#include "base/text.h"
#include "sotto/account.h"
#include "sotto/claims.h"

namespace sotto {

Claim dpsgd_claim(double noise_multiplier, double sampling, std::uint64_t steps, double delta) {
  Claim claim;
  claim.scope = {.unit = Unit::kRecord};
  claim.assumption =
      "neighbours: with the record or without it; batches drawn record by record (Poisson); noise "
      "of the exact Gaussian law; about one record of a client, not about the client";
  claim.theorem = "DPSGD, " + with_commas(steps) + " steps at sampling rate " +
                  short_number(sampling) + " and noise multiplier " +
                  short_number(noise_multiplier) + ", composed by their privacy loss";
  if (steps == 0 || sampling <= 0.0) {
    claim.theorem = "no record was used";
    return claim;
  }
  claim.delta = delta;
  claim.epsilon = std::numeric_limits<double>::infinity();
  if (!(noise_multiplier > 0.0) || !(delta > 0.0) || std::isnan(sampling)) return claim;
  // The ratio is rounded: a part in 2^52 more is above the truth.
  const double ratio = 1.0 / noise_multiplier * (1.0 + 0x1p-50);
  claim.epsilon = PrivacyLoss::gaussian(ratio).poisson(sampling).times(steps).epsilon(delta);
  return claim;
}

}  // namespace sotto
