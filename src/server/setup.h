// From a recipe to the things a run needs: data, clients, network, mechanism.
#pragma once

#include <memory>

#include "client/encode.h"
#include "sotto/federation.h"
#include "transport/local/local_transport.h"

namespace sotto {

struct Setup {
  std::unique_ptr<const DataSplit> data;
  std::unique_ptr<const Partition> partition;
  Preprocess preprocess;
  std::shared_ptr<const TrainerFactory> factory;
  std::unique_ptr<LocalTransport> transport;
  /// What the server collects from: the clients' transport, or one above it that hides reports.
  std::shared_ptr<Transport> server_side;
  std::size_t clients_per_round = 0;
  std::optional<Encoding> encoding;  // where records were randomized before the rounds
};

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory);

/// A client's own samples, as its part of the federation.
struct OwnSamples {
  DataSplit data;
  Partition partition;
};

/// What one client trains with: the recipe's network and preprocessing on its own samples, which
/// are of the recipe's form, be they none.
Result<Setup> make_client_setup(const Recipe& recipe, OwnSamples samples, const RunOptions& options,
                                const MakeFactory& make_factory);

/// What the run starts from: the weights of the recipe's seed, or those of the options.
Result<std::vector<float>> starting_weights(const Recipe& recipe, const RunOptions& options,
                                            const TrainerFactory& factory);

Optimizer optimizer_of(std::string_view name);

}  // namespace sotto
