// What a sampler in floating point adds to delta.
//
// It follows its exact law except with probability tau a report (Background::coupling). With S the
// chance that any report that is seen leaves it, what holds for the exact laws with
// (epsilon, delta) holds for the sampler with (epsilon, delta + S (1 + e^epsilon)).
#pragma once

#include <functional>
#include <optional>

namespace sotto {

/// The least epsilon found with delta(epsilon) + S (1 + e^epsilon) <= delta, where `epsilon_at`
/// tells the epsilon of the exact laws at a delta; nothing where S alone costs more.
std::optional<double> coupled_epsilon(const std::function<double(double delta)>& epsilon_at,
                                      double delta, double coupling);

}  // namespace sotto
