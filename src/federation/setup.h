// From a recipe to the things a run needs: data, clients, network, mechanism.
#pragma once

#include <memory>

#include "federation/local_transport.h"
#include "sotto/federation.h"

namespace sotto {

struct Setup {
  std::unique_ptr<const DataSplit> data;
  std::unique_ptr<const Partition> partition;
  Preprocess preprocess;
  std::shared_ptr<const TrainerFactory> factory;
  std::unique_ptr<LocalTransport> transport;
  std::size_t clients_per_round = 0;
};

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory);

/// Number of threads that `requested` means here; 0 asks for all.
unsigned thread_count(unsigned requested);

}  // namespace sotto
