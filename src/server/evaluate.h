// Accuracy and loss of a model on the public test set, on all lanes of the transport.
#pragma once

#include <span>

#include "sotto/trainer.h"
#include "transport/local/local_transport.h"

namespace sotto {

/// Every sample once, far from its neighbours in the set: files are often sorted by class, and a
/// network that is evaluated with the statistics of a batch needs batches of all classes.
std::vector<std::uint32_t> evaluation_order(std::size_t samples);

/// The test set is looked at in so many chunks.
std::size_t evaluation_chunks(std::size_t samples);

/// Every `of`-th chunk from `first` on: a rank's part of them.
struct ChunkShare {
  std::size_t first = 0;
  std::size_t of = 1;
};
/// The sums of each chunk of the share, in order; the same for any number of lanes.
Result<std::vector<EvaluationSums>> evaluate_chunks(LocalTransport& transport, const Dataset& test,
                                                    const Preprocess& preprocess,
                                                    std::span<const float> model, ChunkShare share);

/// All chunks, added in order. `test` has one sample at least.
Result<EvaluationSums> evaluate_model(LocalTransport& transport, const Dataset& test,
                                      const Preprocess& preprocess, std::span<const float> model);

}  // namespace sotto
