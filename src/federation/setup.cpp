#include "federation/setup.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace sotto {
namespace {

Preprocess make_preprocess(const Recipe& recipe, const Dataset& train) {
  Preprocess preprocess;
  if (recipe.data.normalize) {
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
  if (!recipe.data.resize.empty()) {
    preprocess.resize = SampleShape{static_cast<std::uint32_t>(recipe.data.resize[0]),
                                    static_cast<std::uint32_t>(recipe.data.resize[1]),
                                    static_cast<std::uint32_t>(recipe.data.resize[2])};
  }
  preprocess.crop_padding = static_cast<std::uint32_t>(recipe.data.crop_padding);
  preprocess.flip = recipe.data.flip;
  preprocess.rotation_degrees = static_cast<float>(recipe.data.rotation);
  return preprocess;
}

TrainOptions make_options(const Recipe::Train& train) {
  TrainOptions options;
  options.optimizer = train.optimizer == "adam"      ? Optimizer::kAdam
                      : train.optimizer == "rmsprop" ? Optimizer::kRmsprop
                                                     : Optimizer::kSgd;
  options.learning_rate = train.lr;
  options.momentum = train.momentum;
  options.weight_decay = train.weight_decay;
  options.batch_size = static_cast<std::uint32_t>(train.batch_size);
  options.epochs = static_cast<std::uint32_t>(train.epochs);
  return options;
}

std::size_t clients_per_round(const Recipe::Federation& federation, std::size_t clients) {
  if (federation.k > 0)
    return std::min<std::size_t>(static_cast<std::size_t>(federation.k), clients);
  const double share = federation.fraction * static_cast<double>(clients);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share)));
}

}  // namespace

unsigned thread_count(unsigned requested) {
  return requested > 0 ? requested : std::max(1U, std::thread::hardware_concurrency());
}

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory) {
  Setup setup;
  const auto seed = static_cast<std::uint64_t>(recipe.federation.seed);

  DataRequest request;
  request.source = recipe.data.name;
  request.labels = recipe.data.labels;
  request.test = recipe.data.test;
  request.test_labels = recipe.data.test_labels;
  request.test_fraction = recipe.data.test_fraction;
  request.folder = options.data_folder;
  SOTTO_TRY(DataSplit data, load_data(request));
  setup.data = std::make_unique<const DataSplit>(std::move(data));
  const Dataset& train = setup.data->train;

  SOTTO_TRY(Partition partition,
            make_partition(train, recipe.data.partition,
                           static_cast<std::size_t>(recipe.federation.clients), seed));
  setup.partition = std::make_unique<const Partition>(std::move(partition));
  setup.clients_per_round = clients_per_round(recipe.federation, setup.partition->clients());

  setup.preprocess = make_preprocess(recipe, train);
  if (const auto fits = check_preprocess(train, setup.preprocess); !fits) {
    return at(recipe.file, fits.error());
  }

  TrainerRequest trainer;
  trainer.input = output_shape(train, setup.preprocess);
  trainer.classes = train.classes;
  trainer.file = recipe.model.file;
  trainer.device = recipe.train.device;
  if (recipe.model.file.empty()) {
    SOTTO_TRY(trainer.network, find_network(recipe.model.name, trainer.input, trainer.classes));
  }
  SOTTO_TRY(setup.factory, make_factory(trainer));

  Domain domain;
  domain.layout = std::make_shared<const Layout>(setup.factory->layout());
  const Recipe::Privacy& privacy = recipe.privacy;
  domain.ranges.assign(domain.layout->tensors().size(),
                       Range{privacy.centre.value_or(0.0), privacy.radius.value_or(1.0)});
  auto mechanism = make_mechanism(privacy.mechanism, std::move(domain), privacy.parameters);
  if (!mechanism) return at(recipe.file, mechanism.error());
  setup.mechanism = std::move(*mechanism);

  const LocalClients clients{&train, setup.partition.get(), setup.preprocess,
                             make_options(recipe.train), seed};
  SOTTO_TRY(setup.transport,
            LocalTransport::make(clients, setup.factory, thread_count(options.threads)));
  return setup;
}

}  // namespace sotto
