// From a recipe to what a run needs: the public test set, what trains and evaluates, and the way to
// the clients. Clients that are processes of their own are none of it: the server then reads no
// training data and makes no client.
#pragma once

#include <memory>
#include <optional>

#include "client/encode.h"
#include "server/evaluator.h"
#include "sotto/federation.h"
#include "train/trainer_pool.h"
#include "transport/local/client_pool.h"

namespace sotto {

/// Clients whose data this process holds.
struct SimulatedClients {
  std::unique_ptr<const Partition> partition;
  std::unique_ptr<ClientPool> pool;
  std::optional<Encoding> encoding;  // where records were randomized before the rounds
};

struct Setup {
  /// Where clients are processes of their own the train part is empty.
  std::unique_ptr<const DataSplit> data;
  Preprocess preprocess;
  std::size_t clients = 0;
  std::size_t clients_per_round = 0;
  std::shared_ptr<const TrainerFactory> factory;
  std::unique_ptr<TrainerPool> trainers;
  std::unique_ptr<Evaluator> evaluator;
  std::optional<SimulatedClients> simulated;  // nothing where clients are processes
  /// What the server collects from.
  std::shared_ptr<Transport> transport;
};

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory);

}  // namespace sotto
