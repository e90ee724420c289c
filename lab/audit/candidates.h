// Choosing a test on trials that are not used again: which threshold, or which event, promises the
// largest lower bound on epsilon.
//
// The promise is an estimate (Wilson's limits), cheap enough for thousands of candidates. It need
// not be valid: what it chooses is tested on other trials.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

/// How often an event happened in the learning trials with input 0 and with input 1.
struct EventRates {
  std::uint64_t zeros = 0;  // trials
  std::uint64_t ones = 0;
  std::uint64_t hits_zero = 0;
  std::uint64_t hits_one = 0;
};

/// The bound to expect from `tested` trials of either input, when the guess is "1" on the event.
class Promise {
 public:
  Promise(std::uint64_t tested, double error, double delta);
  /// `doubt`: by how many standard deviations the rates may be worse than they looked. Without
  /// doubt the luckiest of thousands of events wins; with much of it a rare one never does.
  double operator()(const EventRates& rates, double doubt) const;

 private:
  double tested_;
  double z_;
  double delta_;
};

/// Thresholds worth a try for "value > threshold": between distinct values of both samples, at
/// evenly spread ranks and at ranks 1, 2, 4, ... from either end. Sorts the samples.
std::vector<double> thresholds_of(std::vector<double>& zeros, std::vector<double>& ones);

/// The threshold for "value > threshold" that promises most, with doubt: one is chosen among
/// hundreds, and it must not be a lucky one. Sorts the samples; 0 where one of them is empty.
double best_threshold(std::vector<double>& zeros, std::vector<double>& ones,
                      const Promise& promise);

/// How many of the sorted values are above the threshold.
std::uint64_t above(std::span<const double> sorted, double threshold);

}  // namespace sotto
