// privunit with another caution than its own, for tests of its two paths.
#pragma once

#include "sotto/mechanism.h"

namespace sotto {

/// `caution` times the proven error bounds decide which blocks are computed in real arithmetic: 1
/// is the mechanism of the registry, infinity takes that path always, 0 never. The distribution of
/// the report is the same for every value from 1 on.
Result<std::unique_ptr<Mechanism>> make_privunit(Domain domain, const Parameters& parameters,
                                                 double caution);

}  // namespace sotto
