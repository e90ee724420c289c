// What a recipe says of training: how samples are prepared, what trains, and with which options.
// The same for a simulated client, a client of its own process and the server's evaluation.
#pragma once

#include <memory>
#include <string_view>

#include "client/client.h"
#include "sotto/federation.h"

namespace sotto {

/// `like`: samples of the kind that will be prepared.
Result<Preprocess> recipe_preprocess(const Recipe& recipe, const Dataset& like);

/// What trains the recipe's network on samples like these, checked against what the recipe asks of
/// it.
Result<std::shared_ptr<const TrainerFactory>> recipe_factory(const Recipe& recipe,
                                                             const Dataset& like,
                                                             const Preprocess& preprocess,
                                                             const MakeFactory& make_factory);

ClientSettings recipe_client_settings(const Recipe& recipe, const Dataset& data,
                                      Preprocess preprocess);

/// Whether no statistics of batch norm reach the server: then every trainer normalises by those of
/// the batch at hand.
bool uses_batch_statistics(const Recipe& recipe, const Layout& layout);

/// What training starts from: the weights of the recipe's seed, or those of the options.
Result<std::vector<float>> starting_weights(const Recipe& recipe, const RunOptions& options,
                                            const TrainerFactory& factory);

}  // namespace sotto
