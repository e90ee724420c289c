// The closed choices of a recipe. Recipe text, run.json and certificates have their names, which
// stand in one table (src/recipe/choice_names.h); everything between reads the enums.
//
// Sets that grow by a file and a line (mechanisms, schedules, features, data sets, networks) are
// looked up by name and are not here.
#pragma once

#include <string_view>

namespace sotto {

/// federation.mode.
enum class FederationMode {
  kFederated,  // clients share a model
  kLocal,      // every client learns alone and shares nothing
};

/// federation.selection: who takes part in a round.
enum class SelectionRule {
  kServer,     // picked by the server
  kAnonymous,  // accepted by a module that tells nobody which
  kOnce,       // every client in one round only
};

/// train.optimizer and encode.optimizer.
enum class Optimizer { kSgd, kAdam, kRmsprop };

/// train.engine.
enum class Engine {
  kAuto,  // native where it applies, else LibTorch
  kNative,
  kTorch,
};

/// bound.payload: what a client makes of the model it was given.
enum class Payload {
  kWeights,   // the weights after local training
  kDelta,     // their difference to the model
  kGradient,  // the gradient of the loss over its data, without training
};

/// bound.range: where the ranges that weights are clipped to come from.
enum class RangeRule {
  kFixed,     // as the recipe gives them
  kInitial,   // from the initial weights
  kAdaptive,  // adapted after each round to what was released
};

/// bound.buffers: what happens to statistics of batch norm.
enum class BufferRule {
  kPerturb,  // sent through the mechanism like weights
  kLocal,    // kept by each client
  kReset,    // started afresh in each round
};

/// server.decay: the server's learning rate over the rounds.
enum class RateDecay { kNone, kCosine };

/// shuffle.mode: what happens to reports between client and server.
enum class ShuffleMode {
  kNone,      // the server sees who sent what
  kShuffler,  // batches in an order that tells nothing
  kLatency,   // random delays of every chunk: they hide nothing from who sees connections
};

/// encode.layer: which values of a network stand for a sample.
enum class FeatureLayer {
  kFlatten,  // what its first flattening layer yields
  kScores,   // its outputs, one a class
};

/// encode.test: how records of the test set are encoded.
enum class TestRecords {
  kRandomized,  // like training records
  kPlain,       // encoded and not randomized
};

/// As a recipe writes it: "anonymous".
std::string_view name_of(FederationMode mode);
std::string_view name_of(SelectionRule rule);
std::string_view name_of(Optimizer optimizer);
std::string_view name_of(Engine engine);
std::string_view name_of(Payload payload);
std::string_view name_of(RangeRule rule);
std::string_view name_of(BufferRule rule);
std::string_view name_of(RateDecay decay);
std::string_view name_of(ShuffleMode mode);
std::string_view name_of(FeatureLayer layer);
std::string_view name_of(TestRecords records);

}  // namespace sotto
