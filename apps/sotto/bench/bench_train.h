// Measures local training: plain LibTorch loop, federated round on one thread and on several, in
// turns, so that a busy machine slows all of them alike.
#pragma once

#include <string>
#include <vector>

#include "sotto/choices.h"
#include "sotto/result.h"

namespace sotto::cli {

struct TrainBench {
  std::string model;
  unsigned batch_size = 16;
  /// What a client trains on in one round; the published systems' clients have about so many, and
  /// pass over them several times.
  std::size_t samples = 600;
  std::size_t clients = 10;  // in a round
  Engine engine = Engine::kAuto;
};

struct TrainBenchResult {
  TrainBench what;
  std::size_t parameters = 0;
  unsigned threads = 0;
  double plain_samples_per_second = 0.0;       // plain loop, one thread
  double one_thread_samples_per_second = 0.0;  // federated round, one thread
  double samples_per_second = 0.0;             // federated round, `threads` threads
  double engine_overhead = 0.0;                // share of CPU time outside local training
  std::string engine;                          // that trained
  double floor_samples_per_second = 0.0;       // if there were nothing but arithmetic, one thread
  double private_cost =
      0.0;  // a round with each sample's gradient clipped, to one without; 0: none
  double one_thread_ratio() const {
    return one_thread_samples_per_second / plain_samples_per_second;
  }
  double ratio() const { return samples_per_second / plain_samples_per_second; }
};

/// The pairs that are measured by default.
std::vector<TrainBench> default_train_benches();

Result<TrainBenchResult> bench_train(const TrainBench& bench, unsigned threads, unsigned turns);

}  // namespace sotto::cli
