// One trainer for each thread of this process. Clients are trained with them and models evaluated,
// never both at once, so that memory grows with threads and not with what they are used for.
#pragma once

#include <memory>
#include <vector>

#include "sotto/trainer.h"

namespace sotto {

class TrainerPool {
 public:
  /// At most `threads`, and at most as many as the network allows side by side.
  static Result<std::unique_ptr<TrainerPool>> make(const TrainerFactory& factory, unsigned threads);

  unsigned size() const noexcept { return static_cast<unsigned>(trainers_.size()); }
  Trainer& operator[](unsigned lane) { return *trainers_[lane]; }

  /// Whether every trainer can evaluate with the statistics of a batch; from then on it does.
  bool use_batch_statistics();

 private:
  std::vector<std::unique_ptr<Trainer>> trainers_;
};

}  // namespace sotto
