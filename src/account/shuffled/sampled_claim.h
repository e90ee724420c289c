// What the server learns of a client where nobody sees who was picked.
//
// Reports pass an anonymous module that lets each of N through with probability q. Which clients
// are heard stays hidden, how many does not. Given that m are, a client is among them with
// probability m / N, so of two data sets of the client only this share of the outcomes differs; in
// the rest another client stands in its place, whose report is as close: ln(1 + m/N (e^epsilon -
// 1)) and m/N delta (Balle, Barthe, Gaboardi 2018; account/shuffled/sizes.h). At delta 0 that is
// epsilon itself, since all N may be heard. A server that sees who was picked gains everything
// back, so these claims have a view of their own.
#pragma once

#include <vector>

#include "sotto/claims.h"

namespace sotto {

/// For one round and for the whole training; exposure.hidden() holds.
std::vector<Claim> sampled_claims(const Exposure& exposure);

}  // namespace sotto
