// What the two published randomizers of LDPFL share. Both keep a 0 with probability
// alpha e^x / (1 + alpha e^x), x = eps / (B/2) for a report of B bits, and choose P(1|1) as their
// theorem says. They are built as published; the guarantee tells what is true of them.
//
// The proofs bound the ratio of one output for a pair of inputs in which half of the bits rise and
// half fall (Theorem 2: with a ratio above one at even positions cancelled by one below it at odd
// positions). Local differential privacy asks for the worst output and the worst pair, and two
// inputs can differ in every bit in the same direction.
#pragma once

#include <algorithm>

#include "mechanism/bit/bit.h"

namespace sotto {

inline constexpr ParameterInfo kCoefficient{.name = "coefficient",
                                            .low = 0.0,
                                            .high = 1e6,
                                            .low_open = true,
                                            .default_value = 10.0,
                                            .meaning = "LDPFL's privacy budget coefficient alpha"};

/// A design whose thresholds are still to be set: code, claim, and the words that go with it.
inline Result<BitDesign> ldpfl_design(std::string_view mechanism, std::string_view theorem,
                                      Domain& domain, const Parameters& parameters) {
  BitDesign design;
  SOTTO_TRY(design.code, feature_code(mechanism, domain, parameters));
  design.claimed = get(parameters, "epsilon");
  design.statement =
      "the claimed epsilon is " + std::string(theorem) +
      "'s, whose published proof does not hold: it multiplies ratios above one for half of the "
      "bits with ratios below one for the other half and assumes a fixed pattern of differences, "
      "while two inputs can differ in every bit and privacy asks for the worst output; what holds "
      "is the exact epsilon";
  return design;
}

/// 2^64 P(1|0) = 2^64 / (1 + alpha e^x), to the nearest integer.
inline std::uint64_t ldpfl_zero(const BitDesign& design, const exact::Rational& alpha) {
  const auto bits = static_cast<double>(std::max<std::size_t>(1, design.code.bits()));
  const exact::Integer unit = exact::Integer(1) << 256;
  const exact::Integer power =
      exact::floor_times_exp(exact::Rational(unit), 2.0 * design.claimed / bits);
  return nearest_threshold(alpha * exact::Rational(power, unit));
}

}  // namespace sotto
