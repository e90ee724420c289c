// Accuracy and loss of a model on the public test set, on all trainers of the process.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sotto/trainer.h"
#include "train/trainer_pool.h"

namespace sotto {

/// Every sample once, far from its neighbours in the set: files are often sorted by class, and a
/// network that is evaluated with the statistics of a batch needs batches of all classes.
std::vector<std::uint32_t> evaluation_order(std::size_t samples);

class Evaluator {
 public:
  /// `test` and `trainers` outlive it.
  Evaluator(const Dataset& test, Preprocess preprocess, TrainerPool& trainers)
      : test_(test), preprocess_(std::move(preprocess)), trainers_(trainers) {}

  /// The test set is looked at in so many chunks.
  std::size_t chunks() const;

  /// Every `of`-th chunk from `first` on: a rank's part of them.
  struct Share {
    std::size_t first = 0;
    std::size_t of = 1;
  };
  /// The sums of each chunk of the share, in order; the same for any number of trainers.
  Result<std::vector<EvaluationSums>> evaluate_share(std::span<const float> model, Share share);

  /// All chunks, added in order. The test set has one sample at least.
  Result<EvaluationSums> evaluate(std::span<const float> model);

 private:
  const Dataset& test_;
  Preprocess preprocess_;
  TrainerPool& trainers_;
};

}  // namespace sotto
