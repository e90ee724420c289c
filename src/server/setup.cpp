#include "server/setup.h"

#include <algorithm>
#include <thread>

#include "base/machine.h"
#include "base/parallel.h"
#include "plan/baselines.h"
#include "plan/round_plan.h"
#include "recipe/sample_form.h"
#include "server/attendance.h"
#include "transport/device/device_transport.h"
#ifdef SOTTO_WITH_SECURE
#include "transport/secure/secure_transport.h"
#endif
#include "sotto/features.h"

namespace sotto {
namespace {

Preprocess make_preprocess(const Recipe& recipe, const Dataset& train) {
  Preprocess preprocess;
  if (recipe.data.normalize && recipe.data.features == "none") {
    const KnownSet* const known = find_known_set(recipe.data.name);
    if (!recipe.data.mean.empty()) {
      preprocess.mean.assign(recipe.data.mean.begin(), recipe.data.mean.end());
      preprocess.deviation.assign(recipe.data.deviation.begin(), recipe.data.deviation.end());
    } else if (known != nullptr) {
      preprocess.mean = known->mean;
      preprocess.deviation = known->deviation;
    } else if (std::holds_alternative<std::vector<std::uint8_t>>(train.values)) {
      // Not the data's own mean: that would be a statistic of the clients' data in the clear.
      preprocess.mean = {0.5F};
      preprocess.deviation = {0.5F};
    }
  }
  preprocess.resize = recipe_resize(recipe);
  preprocess.crop_padding = static_cast<std::uint32_t>(recipe.data.crop_padding);
  preprocess.flip = recipe.data.flip;
  preprocess.rotation_degrees = static_cast<float>(recipe.data.rotation);
  return preprocess;
}

TrainOptions make_options(const Recipe::Train& train) {
  TrainOptions options;
  options.optimizer = optimizer_of(train.optimizer);
  options.learning_rate = train.lr;
  options.momentum = train.momentum;
  options.weight_decay = train.weight_decay;
  options.batch_size = static_cast<std::uint32_t>(train.batch_size);
  options.epochs = static_cast<std::uint32_t>(train.epochs);
  return options;
}

/// The server's end of the clients' transport. It does not own the one below.
Result<std::shared_ptr<Transport>> server_side(const Recipe& recipe, const RunOptions& options,
                                               LocalTransport& clients,
                                               std::shared_ptr<const TrainerFactory> factory) {
  if (options.transport) return options.transport;
  if (!recipe.aggregate.secure) {
    if (factory->device() != "cpu") return std::make_shared<DeviceTransport>(clients, factory);
    return std::shared_ptr<Transport>(std::shared_ptr<void>(), &clients);
  }
#ifdef SOTTO_WITH_SECURE
  return std::make_shared<SecureTransport>(clients, recipe);
#else
  return fail(ErrorKind::kUsage, recipe.file +
                                     ": aggregate.secure needs a program that was built with "
                                     "secure aggregation (SOTTO_SECURE=ON)");
#endif
}

/// A server whose clients are elsewhere trains on nothing: of the training set it needs shape and
/// labels, by which a simulation would cut it, and not the samples.
void forget_samples(Dataset& train) {
  std::visit([](auto& values) { std::decay_t<decltype(values)>().swap(values); }, train.values);
  give_back_memory();
}

/// From here on the clients' data are their randomized records.
Result<void> encode_records(const Recipe& recipe, const RunOptions& options,
                            const MakeFactory& make_factory, Setup& setup) {
  SOTTO_TRY(EncodedClients encoded,
            encode_clients(recipe, {*setup.data, *setup.partition, setup.preprocess}, options,
                           thread_count(options.threads), make_factory));
  setup.data = std::make_unique<const DataSplit>(std::move(encoded.data));
  setup.partition = std::make_unique<const Partition>(std::move(encoded.partition));
  setup.preprocess = std::move(encoded.preprocess);
  setup.encoding = std::move(encoded.encoding);
  return {};
}

/// What trains, and the way in and out of it, for the data and clients that the setup has.
Result<void> add_engine(const Recipe& recipe, const RunOptions& options,
                        const MakeFactory& make_factory, Setup& setup) {
  const Dataset& samples = setup.data->train;

  TrainerRequest trainer;
  trainer.input = output_shape(samples, setup.preprocess);
  trainer.classes = samples.classes;
  trainer.file = recipe.model.file;
  trainer.device = recipe.train.device;
  trainer.engine = recipe.train.engine;
  trainer.gradients = recipe.bound.payload == "gradient";
  if (recipe.model.file.empty()) {
    SOTTO_TRY(trainer.network, find_network(recipe.model.name, trainer.input, trainer.classes));
  }
  SOTTO_TRY(setup.factory, make_factory(trainer));
  SOTTO_CHECK(check_trainer(recipe, *setup.factory));

  const bool keeps_buffers = recipe.bound.buffers == "local";
  LocalClients clients{&samples,
                       setup.partition.get(),
                       setup.preprocess,
                       make_options(recipe.train),
                       static_cast<std::uint64_t>(recipe.federation.seed),
                       keeps_buffers,
                       recipe.train.keep_optimizer};
  set_private(recipe, clients.options);
  SOTTO_TRY(setup.transport,
            LocalTransport::make(clients, setup.factory, thread_count(options.threads)));
  SOTTO_TRY(setup.server_side, server_side(recipe, options, *setup.transport, setup.factory));
  const Layout& layout = setup.factory->layout();
  const bool has_buffers = layout.parameter_count() < layout.size();
  if (has_buffers && recipe.bound.buffers != "perturb") {
    for (unsigned lane = 0; lane < setup.transport->lanes(); ++lane) {
      if (setup.transport->trainer(lane).use_batch_statistics(true)) continue;
      return fail(ErrorKind::kUsage,
                  recipe.file + ": bound.buffers = \"" + recipe.bound.buffers +
                      "\": the server has no statistics to evaluate this network with; "
                      "use \"perturb\", or one of Sotto's networks");
    }
  }
  return {};
}

}  // namespace

Optimizer optimizer_of(std::string_view name) {
  if (name == "adam") return Optimizer::kAdam;
  return name == "rmsprop" ? Optimizer::kRmsprop : Optimizer::kSgd;
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

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory) {
  Setup setup;
  const auto seed = static_cast<std::uint64_t>(recipe.federation.seed);

  if (options.transport) SOTTO_CHECK(check_remote(recipe));
  SOTTO_CHECK(check_features(recipe));
  SOTTO_TRY(DataSplit data, options.data ? Result<DataSplit>(*options.data)
                                         : load_data(data_request(recipe, options.data_folder)));
  if (const auto form = sample_form(recipe); form && !recipe.data.shape.empty()) {
    if (const auto fits = require_form(*form, data); !fits) return at(recipe.file, fits.error());
  }
  SOTTO_CHECK(apply_features(recipe.data.features, data, thread_count(options.threads)));
  if (options.transport) forget_samples(data.train);
  setup.data = std::make_unique<const DataSplit>(std::move(data));
  const Dataset& train = setup.data->train;

  SOTTO_TRY(Partition partition,
            make_partition(train, recipe.data.partition,
                           static_cast<std::size_t>(recipe.federation.clients), seed));
  setup.partition = std::make_unique<const Partition>(std::move(partition));
  setup.clients_per_round = clients_per_round(recipe.federation, setup.partition->clients());
  SOTTO_CHECK(check_batches(recipe, setup.clients_per_round));
  SOTTO_CHECK(check_secure(recipe, setup.clients_per_round));

  setup.preprocess = make_preprocess(recipe, train);
  if (const auto fits = check_preprocess(train, setup.preprocess); !fits) {
    return at(recipe.file, fits.error());
  }

  if (recipe.encode.on()) SOTTO_CHECK(encode_records(recipe, options, make_factory, setup));
  SOTTO_CHECK(add_engine(recipe, options, make_factory, setup));
  return setup;
}

Result<Setup> make_client_setup(const Recipe& recipe, OwnSamples samples, const RunOptions& options,
                                const MakeFactory& make_factory) {
  Setup setup;
  setup.data = std::make_unique<const DataSplit>(std::move(samples.data));
  setup.partition = std::make_unique<const Partition>(std::move(samples.partition));
  setup.clients_per_round = 1;
  setup.preprocess = make_preprocess(recipe, setup.data->train);
  if (const auto fits = check_preprocess(setup.data->train, setup.preprocess); !fits) {
    return at(recipe.file, fits.error());
  }
  SOTTO_CHECK(add_engine(recipe, options, make_factory, setup));
  return setup;
}

}  // namespace sotto
