// What a sampler in floating point adds to delta.
//
// It follows its exact distribution except with probability tau a report (Background::coupling).
// With S the probability that any report that is seen leaves it, what holds for the exact
// distributions with (epsilon, delta) holds for the sampler with (epsilon, delta + S (1 +
// e^epsilon)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace sotto {

/// The least epsilon found with delta(epsilon) + S (1 + e^epsilon) <= delta, where `epsilon_at`
/// tells the epsilon of the exact distributions at a delta; nothing where S alone costs more.
std::optional<double> coupled_epsilon(const std::function<double(double delta)>& epsilon_at,
                                      double delta, double coupling);

/// `count` reports of epsilon0 that nobody shuffles, each with its own tau: a report is then
/// (epsilon0, (1 + e^epsilon0) tau)-LDP, which composes without any further e^epsilon.
double composed_epsilon(double epsilon0, double tau, std::uint64_t count, double delta);

}  // namespace sotto
