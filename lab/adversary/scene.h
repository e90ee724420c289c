// A scene from names: a data set, a network on it, and the model after so many rounds of training.
//
// The server's training is plain SGD on batches of 100 samples, one step a round, without noise:
// the model that serves a label flip best. The papers' training under ldp-sgd with a hundred
// clients a round would leave the model where it started.
#pragma once

#include <filesystem>
#include <functional>

#include "adversary/adversary.h"

namespace sotto {

struct SceneRequest {
  std::string data;              // as DataRequest::source
  std::filesystem::path folder;  // of known sets
  std::string model = "srr-mnist";
  std::uint64_t train_rounds = 0;  // 0: the model as it is initialised
  std::uint64_t malicious_rounds = 100;
  double learning_rate = 0.1;
  std::uint64_t seed = 0;
  std::string device = "cpu";
};

using FactoryMaker =
    std::function<Result<std::shared_ptr<const TrainerFactory>>(const TrainerRequest&)>;

/// Networks of one linear layer are trained natively, all others by what `make_factory` makes; an
/// error where it is empty.
Result<Scene> make_scene(const SceneRequest& request, const FactoryMaker& make_factory);

/// A scene without model and data, which only `dummy` needs none of.
Scene empty_scene(std::size_t dimension, double dummy_norm);

/// The share of `samples` (at most; evenly spread) examples that the scene's model gets right.
Result<double> training_accuracy(const Scene& scene, std::size_t samples);

}  // namespace sotto
