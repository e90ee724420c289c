// What the server learns of a client when a shuffler stands between them.
//
// A round shows the server, for each chunk of the report, the batch of all clients' chunks in an
// order that tells nothing. Chunks are drawn independently and shuffled independently, so their
// losses compose; so do rounds, whatever the server chooses in between.
#pragma once

#include <optional>
#include <string>

#include "sotto/claims.h"

namespace sotto {

struct ShuffledEpsilon {
  std::optional<double> epsilon;  // missing where nothing better than the local claim is known
  std::string reason;             // why it is missing
  double coupling = 0.0;          // the part of delta that arithmetic costs
};

/// The epsilon at exposure.delta of one round, the worst one, in the smallest batch, and of the
/// whole training. The caller knows whether there is a shuffler.
ShuffledEpsilon shuffled_round(const Exposure& exposure);
ShuffledEpsilon shuffled_training(const Exposure& exposure);
/// Of the whole training, where the question is whether the client's reports were made from its
/// data or were pure noise. Not where clients are picked in secret.
ShuffledEpsilon shuffled_against_noise(const Exposure& exposure);

}  // namespace sotto
