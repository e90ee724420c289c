// Which claims promise a client something, and the strongest of them.
#include "sotto/claims.h"

namespace sotto {

bool promises_client(const Claim& claim) {
  return claim.proves(Scope{}) || claim.proves({.view = View::kShuffler});
}

const Claim* client_claim(const std::vector<Claim>& claims) {
  const Claim* best = nullptr;
  for (const Claim& claim : claims) {
    if (!promises_client(claim)) continue;
    if (best == nullptr || claim.epsilon < best->epsilon) best = &claim;
  }
  return best;
}

}  // namespace sotto
