// What can be said of the rounds so far.
#pragma once

#include "sotto/federation.h"

namespace sotto {

/// Whether the accuracy has not improved for as many evaluations as the recipe waits.
bool out_of_patience(const Recipe::Federation& federation, const RunResult& result);

}  // namespace sotto
