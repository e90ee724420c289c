#include "plan/round_plan.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "plan/baselines.h"
#include "plan/encode_plan.h"
#include "plan/feature_statistics.h"
#include "plan/planner.h"
#include "recipe/sample_form.h"
#include "server/exposure_log.h"
#include "sotto/features.h"

namespace sotto {
namespace {

struct Outline {
  SampleShape input;
  std::int64_t classes = 0;
  std::size_t clients = 0;
  std::uint64_t most_records = 0;  // of a client
};

/// Of a known set from its description; of any other by reading it.
Result<Outline> outline_of(const Recipe& recipe, const std::filesystem::path& data_folder) {
  Outline shape;
  shape.clients = static_cast<std::size_t>(recipe.federation.clients);
  if (const KnownSet* const known = find_known_set(recipe.data.name)) {
    shape.input = known->shape;
    shape.classes = known->classes;
    if (recipe.data.by_user()) {
      return fail(ErrorKind::kUsage, recipe.file + ": data.partition = \"users\": " +
                                         recipe.data.name + " does not tell who its users are");
    }
    if (shape.clients > known->train_size && !repeated_samples(recipe.data.partition)) {
      return fail(ErrorKind::kUsage,
                  recipe.file + ": federation.clients = " + std::to_string(shape.clients) + ": " +
                      recipe.data.name + " has " + with_commas(known->train_size) +
                      " training samples, one for each client at least");
    }
    shape.most_records = most_records(recipe.data.partition, known->train_size, shape.clients);
  } else {
    SOTTO_TRY(DataSplit data, load_data(data_request(recipe, data_folder)));
    if (const auto form = sample_form(recipe)) {
      if (const auto fits = require_form(*form, data); !fits) return at(recipe.file, fits.error());
    }
    SOTTO_TRY(const Partition partition,
              make_partition(data.train, recipe.data.partition, shape.clients,
                             static_cast<std::uint64_t>(recipe.federation.seed)));
    shape.input = data.train.shape;
    shape.classes = data.train.classes;
    shape.clients = partition.clients();
    for (std::size_t i = 0; i < shape.clients; ++i) {
      shape.most_records = std::max<std::uint64_t>(shape.most_records, partition.client(i).size());
    }
  }
  SOTTO_CHECK(check_features(recipe));
  SOTTO_TRY(shape.input, feature_shape(recipe.data.features, shape.input));
  if (const auto resized = recipe_resize(recipe)) shape.input = *resized;
  return shape;
}

Result<Layout> layout_of(const Recipe& recipe, const Outline& shape,
                         const MakeFactory& make_factory) {
  if (recipe.model.file.empty()) {
    SOTTO_TRY(const Network network, find_network(recipe.model.name, shape.input, shape.classes));
    return add_feature_tensors(recipe, network.layout(), shape.input.size());
  }
  if (!make_factory) {
    return fail(ErrorKind::kUsage, recipe.file +
                                       ": model.file needs a program that was built with LibTorch "
                                       "(SOTTO_TORCH=ON)");
  }
  TrainerRequest request;
  request.file = recipe.model.file;
  request.input = shape.input;
  request.classes = shape.classes;
  SOTTO_TRY(const auto factory, make_factory(request));
  return factory->layout();
}

}  // namespace

DataRequest data_request(const Recipe& recipe, const std::filesystem::path& folder) {
  DataRequest request;
  request.source = recipe.data.name;
  request.labels = recipe.data.labels;
  request.test = recipe.data.test;
  request.test_labels = recipe.data.test_labels;
  request.test_fraction = recipe.data.test_fraction;
  request.folder = folder;
  return request;
}

RoundPlan recipe_plan(const Recipe& recipe, RoundId round) {
  RoundPlan plan;
  plan.round = round;
  plan.split = static_cast<std::size_t>(recipe.shuffle.split);
  plan.reported = reported_in(recipe, round);
  plan.payload = recipe.bound.payload;
  plan.fills_ball = recipe.bound.normalize && plan.reported == Reported::kPayload;
  plan.fill_floor = recipe.bound.floor;
  if (recipe.shuffle.mode == ShuffleMode::kLatency) plan.latency = recipe.shuffle.latency;
  return plan;
}

Result<void> check_features(const Recipe& recipe) {
  const Recipe::Data& data = recipe.data;
  if (!data.has_features()) return {};
  const std::pair<const char*, bool> others[] = {{"resize", !data.resize.empty()},
                                                 {"mean", !data.mean.empty()},
                                                 {"deviation", !data.deviation.empty()},
                                                 {"crop_padding", data.crop_padding > 0},
                                                 {"flip", data.flip},
                                                 {"rotation", data.rotation > 0.0}};
  for (const auto& [key, given] : others) {
    if (!given) continue;
    return fail(ErrorKind::kUsage, recipe.file + ": data." + key + " is for images; the network " +
                                       "sees features here (data.features = \"" + data.features +
                                       "\"), which have a scale of their own");
  }
  return {};
}

std::optional<SampleShape> recipe_resize(const Recipe& recipe) {
  const std::vector<std::int64_t>& resize = recipe.data.resize;
  if (resize.empty()) return std::nullopt;
  return SampleShape{static_cast<std::uint32_t>(resize[0]), static_cast<std::uint32_t>(resize[1]),
                     static_cast<std::uint32_t>(resize[2])};
}

std::size_t clients_per_round(const Recipe::Federation& federation, std::size_t clients) {
  if (federation.selection == SelectionRule::kOnce) {  // the least of all rounds
    return clients / static_cast<std::size_t>(federation.rounds);
  }
  if (federation.k > 0)
    return std::min<std::size_t>(static_cast<std::size_t>(federation.k), clients);
  const double share = federation.fraction * static_cast<double>(clients);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share)));
}

double share_of_clients(std::size_t clients, std::size_t per_round) {
  return static_cast<double>(per_round) / static_cast<double>(clients);
}

Result<void> check_batches(const Recipe& recipe, std::size_t per_round) {
  if (per_round == 0) {
    return fail(ErrorKind::kUsage,
                recipe.file + ": federation.selection = \"once\": fewer clients than the " +
                    std::to_string(recipe.federation.rounds) + " rounds");
  }
  const auto least = static_cast<std::size_t>(recipe.shuffle.min_batch);
  if (per_round >= least) return {};
  return fail(ErrorKind::kUsage, recipe.file + ": shuffle.min_batch = " + std::to_string(least) +
                                     ": a round has " + std::to_string(per_round) +
                                     " clients, so nothing would ever be released");
}

Result<PrivacyPlan> plan_privacy(const Recipe& recipe, const std::filesystem::path& data_folder,
                                 const MakeFactory& make_factory) {
  SOTTO_TRY(Outline shape, outline_of(recipe, data_folder));
  PrivacyPlan plan;
  if (recipe.encode.on()) {
    SOTTO_TRY(const EncodePlan encoding, plan_encoding(recipe, shape.input, shape.classes));
    plan.records = encoding.privacy;
    plan.records->most_records = shape.most_records;
    shape.input = encoding.shape();
  }
  SOTTO_TRY(const Layout layout, layout_of(recipe, shape, make_factory));
  plan.clients = shape.clients;
  plan.clients_per_round = clients_per_round(recipe.federation, shape.clients);
  SOTTO_CHECK(check_batches(recipe, plan.clients_per_round));
  std::vector<float> initial;
  if (recipe.model.file.empty()) {
    SOTTO_TRY(const Network network, find_network(recipe.model.name, shape.input, shape.classes));
    BitSource bits =
        BitSource::from_seed(static_cast<std::uint64_t>(recipe.federation.seed), "initialise");
    initial = network.initialise(bits);
  }
  SOTTO_TRY(const Planner planner,
            Planner::make(recipe, layout, initial,
                          share_of_clients(plan.clients, plan.clients_per_round)));
  SOTTO_TRY(plan.groups, planned_exposures(recipe, planner, plan.clients, plan.clients_per_round));
  SOTTO_CHECK(check_secure(recipe, plan.clients_per_round));
  SOTTO_CHECK(check_trainer(recipe, layout));
  std::optional<Partition> partition;
  if (trains_privately(recipe)) {
    // A record's epsilon depends on how many records share its client.
    SOTTO_TRY(const DataSplit data, load_data(data_request(recipe, data_folder)));
    SOTTO_TRY(partition, make_partition(data.train, recipe.data.partition,
                                        static_cast<std::size_t>(recipe.federation.clients),
                                        static_cast<std::uint64_t>(recipe.federation.seed)));
  }
  for (GroupClaims& group : plan.groups) {
    TrainingFacts facts = training_facts(layout, group.exposure);
    if (partition) facts.samples = sample_counts(*partition);
    facts.records = plan.records;
    group.claims = recipe_claims(recipe, group.exposure, facts);
  }
  return plan;
}

}  // namespace sotto
