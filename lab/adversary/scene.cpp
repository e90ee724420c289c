#include "adversary/scene.h"

#include <algorithm>
#include <numeric>

#include "sotto/native.h"

namespace sotto {
namespace {

Preprocess usual_preprocess(const std::string& name, const Dataset& data) {
  Preprocess preprocess;
  if (const KnownSet* const known = find_known_set(name)) {
    preprocess.mean = known->mean;
    preprocess.deviation = known->deviation;
  } else if (std::holds_alternative<std::vector<std::uint8_t>>(data.values)) {
    preprocess.mean = {0.5F};
    preprocess.deviation = {0.5F};
  }
  return preprocess;
}

}  // namespace

Result<Scene> make_scene(const SceneRequest& request, const FactoryMaker& make_factory) {
  DataRequest wanted;
  wanted.source = request.data;
  wanted.folder = request.folder;
  SOTTO_TRY(DataSplit loaded, load_data(wanted));
  const auto split = std::make_shared<const DataSplit>(std::move(loaded));
  Scene scene;
  scene.data = std::shared_ptr<const Dataset>(split, &split->train);
  if (scene.data->size() < 2 || scene.data->classes < 2) {
    return fail(ErrorKind::kUsage, request.data + ": an audit needs two samples and two classes");
  }
  scene.preprocess = usual_preprocess(request.data, *scene.data);
  SOTTO_CHECK(check_preprocess(*scene.data, scene.preprocess));
  TrainerRequest trainer;
  trainer.input = output_shape(*scene.data, scene.preprocess);
  trainer.classes = scene.data->classes;
  trainer.device = request.device;
  SOTTO_TRY(trainer.network, find_network(request.model, trainer.input, trainer.classes));
  trainer.gradients = true;  // one example's at a time
  if (trains_natively(trainer)) {
    SOTTO_TRY(scene.factory, make_native_factory(trainer));
  } else if (make_factory) {
    SOTTO_TRY(scene.factory, make_factory(trainer));
  } else {
    return fail(ErrorKind::kUsage, "the model '" + request.model +
                                       "' needs a program that was built with LibTorch "
                                       "(SOTTO_TORCH=ON) on the device '" +
                                       request.device + "'");
  }
  scene.training.learning_rate = request.learning_rate;
  scene.training.batch_size = 100;
  scene.malicious_rounds = request.malicious_rounds;
  scene.dimension = scene.factory->layout().size();
  scene.weights = scene.factory->initial_weights(request.seed);
  std::vector<std::uint32_t> everything(scene.data->size());
  std::iota(everything.begin(), everything.end(), 0U);
  SOTTO_CHECK(train_rounds(scene, everything, request.train_rounds,
                           BitSource::from_seed(request.seed, "audit-train")));
  return scene;
}

Scene empty_scene(std::size_t dimension, double dummy_norm) {
  Scene scene;
  scene.dimension = dimension;
  scene.dummy_norm = dummy_norm;
  return scene;
}

Result<double> training_accuracy(const Scene& scene, std::size_t samples) {
  SOTTO_TRY(const auto trainer, scene.factory->make());
  SOTTO_CHECK(trainer->load(scene.weights));
  std::vector<std::uint32_t> chosen;
  const std::size_t every = std::max<std::size_t>(1, scene.data->size() / samples);
  for (std::size_t i = 0; i < scene.data->size(); i += every) {
    chosen.push_back(static_cast<std::uint32_t>(i));
  }
  SOTTO_TRY(const EvaluationSums sums, trainer->evaluate(*scene.data, chosen, scene.preprocess));
  return static_cast<double>(sums.correct) / static_cast<double>(sums.samples);
}

}  // namespace sotto
