// Shamir's secret sharing (1979) of 32-byte secrets, over the field of the Mersenne prime 2^61 - 1.
//
// The secret is cut into chunks of 56 bits, each the constant term of a polynomial of degree t - 1
// whose other coefficients are uniform; share x holds the polynomials' values at x. Any t shares
// determine the polynomials. Fewer tell nothing at all: for every candidate of the secret there is
// exactly one choice of the remaining coefficients that gives the t - 1 values that were seen, so
// all candidates are equally likely. Arithmetic here is not constant-time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/bits.h"
#include "sotto/result.h"
#include "sotto/secure.h"

namespace sotto::secure {

/// Shares for x = 1 ... count, of which any `threshold` recover the secret.
/// 1 <= threshold <= count.
std::vector<Share> split(const Secret<32>& secret, std::uint32_t threshold, std::uint32_t count,
                         BitSource& bits);

/// Refuses fewer than `threshold` shares, two of one x, values that no share has, and shares that
/// do not lie on one polynomial (where there are more than `threshold` of them).
Result<Secret<32>> recover(std::span<const Share> shares, std::uint32_t threshold);

}  // namespace sotto::secure
