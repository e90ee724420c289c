#include "account/shuffled/shuffler_words.h"

#include <cstdio>

#include "base/text.h"

namespace sotto {
namespace {

/// A small number for people, never below it: "5.8e-28".
std::string two_digits_up(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value * 1.06);  // above half a unit of the second digit
  return text;
}

std::string honest_words(double honest) {
  if (honest >= 1.0) return "all others of a batch";
  return short_number(100.0 * honest) +
         " % of the others of a batch, who alone count as its members,";
}

}  // namespace

std::string batch_sizes(const Exposure& exposure) {
  const auto batches = exposure.batches();
  const std::uint64_t least = batches.begin()->first;
  const std::uint64_t most = batches.rbegin()->first;
  if (least == most) return counted(most, "client");
  return with_commas(least) + " to " + counted(most, "client");
}

std::string shuffler_assumption(const Exposure& exposure, double coupling) {
  std::string text =
      exposure.shuffle == ShuffleMode::kLatency
          ? "an anonymous channel that hides who sent what and mixes all chunks of a "
            "round; random delays alone are none: they hide nothing from a server "
            "that sees connections; every batch"
          : "a shuffler that keeps order and senders secret and does not work with "
            "the server; every batch that reaches the server";
  text += exposure.hidden()
              ? " has the reports of those who were picked, each of " +
                    counted(exposure.population, "client") + " with probability " +
                    short_number(exposure.sampling) + ", and nobody sees who was, but how many"
              : " has the well-formed reports of " + batch_sizes(exposure);
  text += "; " + honest_words(exposure.honest) +
          " keep the coins of their reports secret; the server may know their data";
  if (coupling > 0.0) {
    text +=
        "; the sampler's floating point costs a part of delta (a report leaves its exact "
        "distribution in one of these batches with probability at most " +
        two_digits_up(coupling) + ')';
  }
  return text;
}

}  // namespace sotto
