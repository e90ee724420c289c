// How the server's model follows from what a round released: post-processing, free of privacy cost.
//
//   step      weights: mean - model;  delta: mean;  gradient: -mean
//   velocity  momentum * velocity + step
//   model     model + lr_t * velocity
//
// With payload weights, lr 1 and no momentum the model is the mean itself, to the last bit.
// lr_t of round t out of T (rounds that report statistics aside) is lr, or lr (1 + cos(pi (t - 1) /
// T)) / 2 with decay "cosine".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/federation.h"

namespace sotto {

class ServerStep {
 public:
  explicit ServerStep(const Recipe& recipe);

  /// `values` are what the round released for model[offset], model[offset + 1], ...
  void apply(RoundId round, std::size_t offset, std::span<const double> values,
             std::span<float> model);

  /// Empty without momentum; else one value for each weight of the model.
  const std::vector<float>& velocity() const noexcept { return velocity_; }
  void restore(std::vector<float> velocity) { velocity_ = std::move(velocity); }

 private:
  double rate(RoundId round) const;

  Payload payload_;
  double lr_;
  double momentum_;
  bool cosine_;
  RoundId before_;  // rounds that move no weight
  double rounds_;   // that do
  std::vector<float> velocity_;
};

}  // namespace sotto
