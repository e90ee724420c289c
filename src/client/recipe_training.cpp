#include "client/recipe_training.h"

#include "plan/baselines.h"
#include "plan/feature_statistics.h"
#include "plan/round_plan.h"
#include "sotto/features.h"
#include "train/changed_features.h"

namespace sotto {
namespace {

TrainOptions train_options(const Recipe& recipe) {
  TrainOptions options;
  options.optimizer = recipe.train.optimizer;
  options.learning_rate = recipe.train.lr;
  options.momentum = recipe.train.momentum;
  options.weight_decay = recipe.train.weight_decay;
  options.batch_size = static_cast<std::uint32_t>(recipe.train.batch_size);
  options.epochs = static_cast<std::uint32_t>(recipe.train.epochs);
  set_private(recipe, options);
  return options;
}

}  // namespace

Result<Preprocess> recipe_preprocess(const Recipe& recipe, const Dataset& like) {
  Preprocess preprocess;
  if (recipe.data.normalize && !recipe.data.has_features()) {
    const KnownSet* const known = find_known_set(recipe.data.name);
    if (!recipe.data.mean.empty()) {
      preprocess.mean.assign(recipe.data.mean.begin(), recipe.data.mean.end());
      preprocess.deviation.assign(recipe.data.deviation.begin(), recipe.data.deviation.end());
    } else if (known != nullptr) {
      preprocess.mean = known->mean;
      preprocess.deviation = known->deviation;
    } else if (std::holds_alternative<std::vector<std::uint8_t>>(like.values)) {
      // Not the data's own mean: that would be a statistic of the clients' data in the clear.
      preprocess.mean = {0.5F};
      preprocess.deviation = {0.5F};
    }
  }
  preprocess.resize = recipe_resize(recipe);
  preprocess.crop_padding = static_cast<std::uint32_t>(recipe.data.crop_padding);
  preprocess.flip = recipe.data.flip;
  preprocess.rotation_degrees = static_cast<float>(recipe.data.rotation);
  if (const auto fits = check_preprocess(like, preprocess); !fits) {
    return at(recipe.file, fits.error());
  }
  return preprocess;
}

Result<std::shared_ptr<const TrainerFactory>> recipe_factory(const Recipe& recipe,
                                                             const Dataset& like,
                                                             const Preprocess& preprocess,
                                                             const MakeFactory& make_factory) {
  TrainerRequest request;
  request.input = output_shape(like, preprocess);
  request.classes = like.classes;
  request.file = recipe.model.file;
  request.device = recipe.train.device;
  request.engine = recipe.train.engine;
  request.gradients = recipe.bound.payload == Payload::kGradient;
  if (recipe.model.file.empty()) {
    SOTTO_TRY(request.network, find_network(recipe.model.name, request.input, request.classes));
  }
  SOTTO_TRY(auto factory, make_factory(request));
  SOTTO_CHECK(check_trainer(recipe, *factory));
  if (recipe.statistics.on()) {
    Layout layout = add_feature_tensors(recipe, factory->layout(), request.input.size());
    return change_features(std::move(factory), std::move(layout));
  }
  return factory;
}

ClientSettings recipe_client_settings(const Recipe& recipe, const Dataset& data,
                                      Preprocess preprocess) {
  return {&data, std::move(preprocess), train_options(recipe),
          recipe.bound.buffers == BufferRule::kLocal, recipe.train.keep_optimizer};
}

bool uses_batch_statistics(const Recipe& recipe, const Layout& layout) {
  return layout.parameter_count() < layout.size() && recipe.bound.buffers != BufferRule::kPerturb;
}

Result<std::vector<float>> starting_weights(const Recipe& recipe, const RunOptions& options,
                                            const TrainerFactory& factory) {
  if (options.initial_weights.empty()) {
    return factory.initial_weights(static_cast<std::uint64_t>(recipe.federation.seed));
  }
  if (options.initial_weights.size() != factory.layout().size()) {
    return fail(ErrorKind::kUsage, recipe.file + ": the network has " +
                                       std::to_string(factory.layout().size()) +
                                       " weights, and it is to start from " +
                                       std::to_string(options.initial_weights.size()));
  }
  return options.initial_weights;
}

}  // namespace sotto
