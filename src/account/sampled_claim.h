// What the server learns of a client where nobody sees who was picked.
//
// Reports pass an anonymous module that lets k of N through. Whether a client's report is among
// those that the server sees, and which one it is, stays hidden, so of two data sets of the client
// only the share q = k/N of the outcomes differs; in the rest another client stands in its place,
// whose report is as close: ln(1 + q (e^epsilon - 1)) and q delta (Balle, Barthe, Gaboardi 2018). A
// server that sees who was picked gains everything back, so these claims have scopes of their own.
#pragma once

#include <vector>

#include "sotto/claims.h"

namespace sotto {

/// For one round, whose claim without sampling is `round`, and for the whole training.
std::vector<Claim> sampled_claims(const Exposure& exposure, const Claim& round);

}  // namespace sotto
