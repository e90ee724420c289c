// What one report tells about which of two inputs it came from.
//
// All that matters of a report is its likelihood ratio P(y | one) / P(y | zero), so outputs with
// the same ratio are one class, and the whole mechanism is, for these two inputs, a short table of
// probabilities. A mechanism with very many ratios is lumped to kMostClasses: the server forgets a
// little, and what it then finds is still a lower bound.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

struct DistributionPair {
  static constexpr std::size_t kMostClasses = 64;
  struct Class {
    double zero = 0.0;  // probability under input zero
    double one = 0.0;
    /// Infinite where input zero never yields it.
    double ratio() const;
  };
  std::vector<Class> classes;  // ascending by ratio

  /// The classes that speak for input one, as a single event.
  double speaks_zero() const;  // its probability under zero
  double speaks_one() const;
  /// The largest |ln ratio|.
  double epsilon() const;
};

/// A mechanism, two of its inputs that are as easy to tell apart as any, and the class of every
/// report. One weight of a value mechanism, the whole vector of a vector mechanism, all bits of a
/// bit mechanism (which must be few enough to list all reports).
class ReportPair {
 public:
  static constexpr std::size_t kMostBits = 12;

  /// Of value mechanisms for a single weight.
  static Result<ReportPair> make(const Mechanism& mechanism, MechanismKind kind);

  const DistributionPair& distributions() const noexcept { return distributions_; }
  std::span<const float> zero() const noexcept { return zero_; }
  std::span<const float> one() const noexcept { return one_; }
  /// The class of a report of the mechanism.
  std::size_t class_of(std::span<const Symbol> report) const;
  std::string words() const;  // "0 and 1": the inputs, for people

 private:
  Result<void> list_outputs(const std::vector<std::vector<Symbol>>& reports);
  void lump();
  std::size_t class_of_ratio(double ratio) const;
  std::size_t place_of(std::span<const Symbol> report) const;
  const Mechanism* mechanism_ = nullptr;
  std::vector<float> zero_, one_;
  DistributionPair distributions_;
  std::vector<double> upper_;         // the largest ratio of every class
  std::vector<std::uint8_t> listed_;  // the class of every report, by place_of(); or empty
};

}  // namespace sotto
