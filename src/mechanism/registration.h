// What a mechanism's file tells the registry. A new mechanism is one file that defines its
// Registration and one line in mechanisms.def; factory, command line, tests and docs read it there.
#pragma once

#include <string>
#include <string_view>

#include "sotto/mechanism.h"

namespace sotto {

struct Registration {
  MechanismInfo info;
  /// Parameters are complete, finite and inside their intervals when this is called; defaults are
  /// filled in, and only those that are neither required nor default may be missing.
  Result<std::unique_ptr<Mechanism>> (*make)(Domain domain, const Parameters& parameters);
};

#define SOTTO_MECHANISM(name, file) extern const Registration file##_registration;
#include "mechanism/mechanisms.def"
#undef SOTTO_MECHANISM

// Parameters that many mechanisms share.
/// Below the least, probabilities of 64 bits would have next to nothing to tell apart.
inline constexpr ParameterInfo kEpsilon{.name = "epsilon",
                                        .low = 1e-9,
                                        .high = 1000.0,
                                        .meaning = "the largest log-ratio that is allowed"};
inline constexpr ParameterInfo kPrecision{
    .name = "precision",
    .low = 0.0,
    .high = 15.0,
    .integer = true,
    .default_value = 4.0,
    .meaning = "decimals of the grid: its step is 10^-precision"};

/// What SRR-FL and LDP-FL count on when they call one weight's epsilon a client's.
inline constexpr std::string_view kParameterShuffling =
    "parameter shuffling: one weight's epsilon is a client's only if every weight travels through "
    "an anonymous channel of its own and the weights of one client, which all depend on the same "
    "data, are not composed";

inline double get(const Parameters& parameters, std::string_view name) {
  return parameters.find(name)->second;
}
inline bool has(const Parameters& parameters, std::string_view name) {
  return parameters.find(name) != parameters.end();
}

/// "srr.v1" -> "srr.v1:9f86d081884c7d65", with a digest of domain and parameters.
std::string mechanism_id(std::string_view version, const Domain& domain,
                         const Parameters& parameters);

}  // namespace sotto
