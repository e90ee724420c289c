// What a round tells of a client that takes part in secret, where the number of reports is seen.
//
// Each of N clients takes part with probability q, independently of the others and of all data. The
// server sees how many reports there are, m ~ Bin(N, q), and m reports whose order tells nothing.
// Given m, every set of m clients is equally likely, so one client is in it with probability m / N:
// of two data sets of the client the views are
//
//   P_m = m/N A_m + (1 - m/N) C_m  and  Q_m = m/N A'_m + (1 - m/N) C_m,
//
// A_m with the client among the m, C_m with another one in its place. A_m and A'_m, as well as A_m
// and C_m, differ in one report among m, so sampling without replacement holds for each size, with
// the rate m / N. m has the same distribution for both data sets and is seen: delta is the mean
// over sizes of that of one size, and the pair is the union of the sizes' pairs. The rate k / N of
// a fixed number of reports would be wrong: larger batches are likelier to hold the client, smaller
// ones hide less.
//
// That holds whatever is known of a batch, but forgets that C_m and A'_m cannot both be far from
// A_m for the same others. Where a client sends one report a round, more is true: silence is an
// answer like any other. The server sees the answers of all N clients in an order that tells
// nothing, and an answer is silence with probability 1 - q and a report otherwise. If the density
// of every report lies in [g, g e^E] with respect to a distribution U, that of every answer lies in
// [v, v e^E] with respect to V = ((1 - q) silence + q g U) / v, v = 1 - q + q g: the same bound
// holds, with the floor v and N clients (account/shuffled/shuffle.cpp).
#pragma once

#include <cstdint>
#include <functional>

#include "sotto/account.h"

namespace sotto {

/// How finely sizes are distinguished, in deviations of their number. What is joined counts as the
/// smallest batch and as the largest rate of it.
enum class SizeDetail { kFine, kCoarse };

/// `loss_of(m)`: what a client that is known to take part loses among the reports of m clients, of
/// which it is one; larger batches must not lose more.
PrivacyLoss loss_over_sizes(std::uint64_t population, double share,
                            const std::function<PrivacyLoss(std::uint64_t clients)>& loss_of,
                            SizeDetail detail);

/// One report a round, of each of `population` clients with probability `share`.
PrivacyLoss loss_with_silence(const Background& report, std::uint64_t population, double share);

/// How many clients there are where each takes part with probability `share` and `clients` do in
/// the mean.
std::uint64_t population_of(std::uint64_t clients, double share);

/// The least m with P(Bin(population, share) > m) <= tail, never too small.
std::uint64_t size_not_exceeded(std::uint64_t population, double share, double tail);

/// This client and those of the other `members - 1` who are honest: their coins stay secret.
std::uint64_t honest_members(std::uint64_t members, double honest);

}  // namespace sotto
