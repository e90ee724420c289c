#include "server/setup.h"

#include "base/parallel.h"
#include "client/recipe_training.h"
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

/// What the server collects from, above the pool of simulated clients, which it does not own.
Result<std::shared_ptr<Transport>> transport_to(ClientPool& clients, const Recipe& recipe,
                                                std::shared_ptr<const TrainerFactory> factory) {
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

/// The public test set alone: the clients' samples are their own. `remote` recipes say what a
/// sample is.
Result<DataSplit> test_data(const Recipe& recipe, const RunOptions& options) {
  const SampleForm form = *sample_form(recipe);
  DataSplit data{recipe.data.name, no_samples(form), {}};
  if (options.data) {
    data.test = options.data->test;
  } else {
    SOTTO_TRY(data.test, load_test(data_request(recipe, options.data_folder)));
  }
  if (const auto fits = require_form(form, data); !fits) return at(recipe.file, fits.error());
  return data;
}

Result<DataSplit> all_data(const Recipe& recipe, const RunOptions& options) {
  SOTTO_TRY(DataSplit data, options.data ? Result<DataSplit>(*options.data)
                                         : load_data(data_request(recipe, options.data_folder)));
  if (const auto form = sample_form(recipe); form && !recipe.data.shape.empty()) {
    if (const auto fits = require_form(*form, data); !fits) return at(recipe.file, fits.error());
  }
  return data;
}

/// From here on the clients' data are their randomized records.
Result<void> encode_records(const Recipe& recipe, const RunOptions& options,
                            const MakeFactory& make_factory, Setup& setup) {
  SimulatedClients& clients = *setup.simulated;
  SOTTO_TRY(EncodedClients encoded,
            encode_clients(recipe, {*setup.data, *clients.partition, setup.preprocess}, options,
                           thread_count(options.threads), make_factory));
  setup.data = std::make_unique<const DataSplit>(std::move(encoded.data));
  clients.partition = std::make_unique<const Partition>(std::move(encoded.partition));
  setup.preprocess = std::move(encoded.preprocess);
  clients.encoding = std::move(encoded.encoding);
  return {};
}

/// What trains and evaluates, for the data that the setup has.
Result<void> add_engine(const Recipe& recipe, const RunOptions& options,
                        const MakeFactory& make_factory, Setup& setup) {
  // A remote run has no training samples, a simulated one may test on none.
  const Dataset& like = setup.simulated ? setup.data->train : setup.data->test;
  SOTTO_TRY(setup.factory, recipe_factory(recipe, like, setup.preprocess, make_factory));
  SOTTO_TRY(setup.trainers, TrainerPool::make(*setup.factory, thread_count(options.threads)));
  setup.evaluator =
      std::make_unique<Evaluator>(setup.data->test, setup.preprocess, *setup.trainers);
  if (uses_batch_statistics(recipe, setup.factory->layout()) &&
      !setup.trainers->use_batch_statistics()) {
    return fail(ErrorKind::kUsage,
                recipe.file + ": bound.buffers = \"" + std::string(name_of(recipe.bound.buffers)) +
                    "\": the server has no statistics to evaluate this network with; "
                    "use \"perturb\", or one of Sotto's networks");
  }
  return {};
}

}  // namespace

Result<Setup> make_setup(const Recipe& recipe, const RunOptions& options,
                         const MakeFactory& make_factory) {
  const bool remote = options.transport != nullptr;
  if (remote) SOTTO_CHECK(check_remote(recipe));
  SOTTO_CHECK(check_features(recipe));
  SOTTO_TRY(DataSplit data, remote ? test_data(recipe, options) : all_data(recipe, options));
  SOTTO_CHECK(
      apply_features(recipe.data.features, data, thread_count(options.threads), recipe.data.views));
  Setup setup;
  setup.data = std::make_unique<const DataSplit>(std::move(data));
  setup.clients = static_cast<std::size_t>(recipe.federation.clients);
  const auto seed = static_cast<std::uint64_t>(recipe.federation.seed);
  if (!remote) {
    SOTTO_TRY(Partition partition,
              make_partition(setup.data->train, recipe.data.partition, setup.clients, seed));
    setup.clients = partition.clients();
    setup.simulated.emplace();
    setup.simulated->partition = std::make_unique<const Partition>(std::move(partition));
  }
  setup.clients_per_round = clients_per_round(recipe.federation, setup.clients);
  SOTTO_CHECK(check_batches(recipe, setup.clients_per_round));
  SOTTO_CHECK(check_secure(recipe, setup.clients_per_round));
  SOTTO_TRY(setup.preprocess,
            recipe_preprocess(recipe, remote ? setup.data->test : setup.data->train));
  if (recipe.encode.on()) SOTTO_CHECK(encode_records(recipe, options, make_factory, setup));
  SOTTO_CHECK(add_engine(recipe, options, make_factory, setup));
  if (remote) {
    setup.transport = options.transport;
    return setup;
  }
  SimulatedClients& clients = *setup.simulated;
  clients.pool = std::make_unique<ClientPool>(
      recipe_client_settings(recipe, setup.data->train, setup.preprocess), *clients.partition, seed,
      std::make_shared<const Layout>(setup.factory->layout()), *setup.trainers);
  SOTTO_TRY(setup.transport, transport_to(*clients.pool, recipe, setup.factory));
  return setup;
}

}  // namespace sotto
