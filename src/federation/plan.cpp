#include "federation/plan.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "sotto/features.h"

namespace sotto {
namespace {

struct Outline {
  SampleShape input;
  std::int64_t classes = 0;
  std::size_t clients = 0;
};

/// Of a known set from its description; of any other by reading it.
Result<Outline> outline_of(const Recipe& recipe, const std::filesystem::path& data_folder) {
  Outline shape;
  shape.clients = static_cast<std::size_t>(recipe.federation.clients);
  if (const KnownSet* const known = find_known_set(recipe.data.name)) {
    shape.input = known->shape;
    shape.classes = known->classes;
    if (recipe.data.partition == "users") {
      return fail(ErrorKind::kUsage, recipe.file + ": data.partition = \"users\": " +
                                         recipe.data.name + " does not tell who its users are");
    }
    if (shape.clients > known->train_size) {
      return fail(ErrorKind::kUsage,
                  recipe.file + ": federation.clients = " + std::to_string(shape.clients) + ": " +
                      recipe.data.name + " has " + with_commas(known->train_size) +
                      " training samples, one for each client at least");
    }
  } else {
    SOTTO_TRY(const DataSplit data, load_data(data_request(recipe, data_folder)));
    SOTTO_TRY(const Partition partition,
              make_partition(data.train, recipe.data.partition, shape.clients,
                             static_cast<std::uint64_t>(recipe.federation.seed)));
    shape.input = data.train.shape;
    shape.classes = data.train.classes;
    shape.clients = partition.clients();
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
    return network.layout();
  }
  if (!make_factory) {
    return fail(ErrorKind::kUsage, recipe.file +
                                       ": model.file needs a program that was built with training "
                                       "(SOTTO_TRAIN=ON)");
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

Result<void> check_features(const Recipe& recipe) {
  const Recipe::Data& data = recipe.data;
  if (data.features == "none") return {};
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
  if (federation.selection == "once") {  // the least of all rounds
    return clients / static_cast<std::size_t>(federation.rounds);
  }
  if (federation.k > 0)
    return std::min<std::size_t>(static_cast<std::size_t>(federation.k), clients);
  const double share = federation.fraction * static_cast<double>(clients);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share)));
}

Domain recipe_domain(const Recipe& recipe, const Layout& layout) {
  Domain domain;
  domain.layout = std::make_shared<const Layout>(layout);
  domain.ranges.assign(layout.tensors().size(), Range{recipe.privacy.centre.value_or(0.0),
                                                      recipe.privacy.radius.value_or(1.0)});
  return domain;
}

Result<std::shared_ptr<const Mechanism>> recipe_mechanism(const Recipe& recipe,
                                                          const Layout& layout) {
  auto mechanism = make_mechanism(recipe.privacy.mechanism, recipe_domain(recipe, layout),
                                  recipe.privacy.parameters);
  if (!mechanism) return at(recipe.file, mechanism.error());
  if (recipe.bound.normalize && (*mechanism)->domain().shape != Shape::kBall) {
    return fail(ErrorKind::kUsage, recipe.file +
                                       ": bound.normalize = true: " + recipe.privacy.mechanism +
                                       " has no ball that a payload could be made to fill; valid "
                                       "with vector mechanisms (privunit, ldp-sgd, gaussian)");
  }
  return std::shared_ptr<const Mechanism>(std::move(*mechanism));
}

Exposure recipe_exposure(const Recipe& recipe) {
  Exposure exposure;
  exposure.shuffle =
      recipe.shuffle.mode == "shuffler" ? ShuffleMode::kShuffler : ShuffleMode::kNone;
  exposure.split = static_cast<std::uint64_t>(recipe.shuffle.split);
  exposure.delta = recipe.account.delta;
  return exposure;
}

Exposure planned_exposure(const Recipe& recipe, std::size_t clients, std::size_t per_round) {
  Exposure exposure = recipe_exposure(recipe);
  const auto rounds = static_cast<std::uint64_t>(recipe.federation.rounds);
  exposure.rounds = rounds;
  if (const std::vector<double>& limits = recipe.ledger.rounds; !limits.empty()) {
    const double most = *std::ranges::max_element(limits);
    exposure.rounds = std::min(rounds, static_cast<std::uint64_t>(most));
  }
  const bool once = recipe.federation.selection == "once";
  if (once) exposure.rounds = 1;
  exposure.every_round = per_round == clients || once;
  exposure.batches = {{per_round, rounds}};
  return exposure;
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
  SOTTO_TRY(const Outline shape, outline_of(recipe, data_folder));
  SOTTO_TRY(const Layout layout, layout_of(recipe, shape, make_factory));
  PrivacyPlan plan;
  SOTTO_TRY(plan.mechanism, recipe_mechanism(recipe, layout));
  plan.clients = shape.clients;
  plan.clients_per_round = clients_per_round(recipe.federation, shape.clients);
  SOTTO_CHECK(check_batches(recipe, plan.clients_per_round));
  plan.exposure = planned_exposure(recipe, plan.clients, plan.clients_per_round);
  return plan;
}

}  // namespace sotto
