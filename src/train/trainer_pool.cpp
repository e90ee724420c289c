#include "train/trainer_pool.h"

#include <algorithm>

namespace sotto {

Result<std::unique_ptr<TrainerPool>> TrainerPool::make(const TrainerFactory& factory,
                                                       unsigned threads) {
  auto pool = std::make_unique<TrainerPool>();
  const unsigned lanes = std::clamp(threads, 1U, factory.parallelism());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SOTTO_TRY(auto trainer, factory.make());
    pool->trainers_.push_back(std::move(trainer));
  }
  return pool;
}

bool TrainerPool::use_batch_statistics() {
  return std::ranges::all_of(
      trainers_, [](const auto& trainer) { return trainer->use_batch_statistics(true); });
}

}  // namespace sotto
