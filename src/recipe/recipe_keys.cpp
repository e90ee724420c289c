// The table itself: one line a key.
#include "recipe/recipe_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "plan/schedule.h"
#include "recipe/encode_keys.h"
#include "recipe/recipe_bindings.h"
#include "recipe/statistics_keys.h"
#include "sotto/features.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

/// One key for each parameter of a mechanism that takes weights.
void add_mechanism_parameters(std::vector<KeyBinding>& bindings) {
  const std::string prefix = "privacy.";
  for (const MechanismInfo& info : mechanisms()) {
    if (info.kind == MechanismKind::kBits) continue;
    for (const ParameterInfo& parameter : info.parameters) {
      const std::string name(parameter.name);
      const auto same =
          std::find_if(bindings.begin(), bindings.end(),
                       [&](const KeyBinding& binding) { return binding.key == prefix + name; });
      if (same != bindings.end()) {
        if (same->valid != parameter.valid()) same->valid = "a number";
        continue;
      }
      bindings.push_back(optional_number(
          prefix + name,
          [name](Recipe& recipe, double value) { recipe.privacy.parameters[name] = value; },
          [name](const Recipe& recipe) -> std::optional<double> {
            const auto it = recipe.privacy.parameters.find(name);
            if (it == recipe.privacy.parameters.end()) return std::nullopt;
            return it->second;
          },
          parameter.valid(), std::string(parameter.meaning)));
    }
  }
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleInfo& info : schedules()) names.emplace_back(info.name);
  return names;
}

std::string schedule_meanings() {
  std::string text;
  for (const ScheduleInfo& info : schedules()) {
    text += (text.empty() ? "" : "; ") + std::string(info.meaning);
  }
  return text;
}

std::vector<std::string> mechanism_names() {
  std::vector<std::string> names;
  for (const MechanismInfo& info : mechanisms()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> feature_names() {
  std::vector<std::string> names;
  for (const FeatureInfo& info : feature_maps()) names.emplace_back(info.name);
  return names;
}

/// 0 stands for "not given", and no recipe has it.
KeyBinding classes_binding() {
  KeyBinding binding = whole(
      "data.classes", [](auto& recipe) -> auto& { return recipe.data.classes; }, 2, 100'000,
      kDecidesModel,
      "number of classes, for a federation on a set that is not a known one: clients leave out "
      "samples with other labels");
  binding.applies = [](const Recipe& recipe) { return recipe.data.classes > 0; };
  binding.show = [](const Recipe& recipe) {
    const std::int64_t classes = recipe.data.classes;
    return classes > 0 ? nlohmann::json(classes) : nlohmann::json(nullptr);
  };
  return binding;
}

/// Written as text, and kept in one spelling.
KeyBinding views_binding() {
  const auto read = [](const toml::node& node, Recipe& recipe) {
    const toml::array* const array = node.as_array();
    if (array == nullptr || array->size() > kMostViews) return false;
    std::vector<ImageView> views;
    for (const toml::node& item : *array) {
      const auto text = item.value_exact<std::string>();
      const auto view = text ? parse_view(*text) : Result<ImageView>(ImageView{});
      if (!text || !view || std::ranges::find(views, *view) != views.end()) return false;
      views.push_back(*view);
    }
    recipe.data.views = std::move(views);
    return true;
  };
  const auto show = [](const Recipe& recipe) {
    std::vector<std::string> texts;
    for (const ImageView& view : recipe.data.views) texts.push_back(view_text(view));
    return texts.empty() ? nlohmann::json(nullptr) : nlohmann::json(texts);
  };
  return {"data.views",
          "a list of at most " + std::to_string(kMostViews) +
              " different views: \"shift(DX,DY)\", \"rotate(DEGREES)\", \"flip\", or several "
              "joined by +",
          "a client's gradient is the mean over its samples and these views of them",
          kDecidesModel,
          read,
          show};
}

/// It means nothing without bound.normalize, and recipes without that keep their fingerprints.
KeyBinding floor_binding() {
  KeyBinding binding = real(
      "bound.floor", [](auto& recipe) -> auto& { return recipe.bound.floor; }, Low::kClosed, 0.0,
      1e6, kDecidesModel,
      "bound.normalize: a payload shorter than this keeps its length, because it is rounding more "
      "than signal");
  binding.applies = [](const Recipe& recipe) { return recipe.bound.normalize; };
  return binding;
}

/// Missing where there is one, so that older recipes keep their fingerprints.
KeyBinding messages_binding() {
  KeyBinding binding = whole(
      "privacy.messages", [](auto& recipe) -> auto& { return recipe.privacy.messages; }, 1, 256,
      kDecidesModel,
      "independent reports that a client sends in a round of its one result, each in a batch of "
      "its own; each costs what a round does; 1 if not given");
  binding.show = [](const Recipe& recipe) {
    const std::int64_t messages = recipe.privacy.messages;
    return messages > 1 ? nlohmann::json(messages) : nlohmann::json(nullptr);
  };
  return binding;
}

#define AT(member) \
  [](auto& recipe) -> auto& { return recipe.member; }

std::vector<KeyBinding> make_bindings() {
  constexpr std::int64_t kMany = 100'000'000;
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto extent = [](std::int64_t value) { return value >= 1 && value <= 8192; };
  std::vector<KeyBinding> bindings = {
      text("data.name", AT(data.name), kDecidesModel,
           "a known set (`sotto data list`) or the path of a file or folder"),
      text("data.labels", AT(data.labels), kDecidesModel,
           "label file, for formats that keep labels apart (IDX, NPY)"),
      text("data.test", AT(data.test), kDecidesModel, "path of the test data"),
      text("data.test_labels", AT(data.test_labels), kDecidesModel, "label file of the test data"),
      optional_list<std::int64_t>(
          "data.shape", AT(data.shape), "[channels, height, width], each in [1, 1048576]",
          [](const std::vector<std::int64_t>& sides) {
            return sides.size() == 3 && std::ranges::all_of(sides, [](std::int64_t side) {
                     return side >= 1 && side <= 1'048'576;
                   });
          },
          "shape of the samples, for a federation on a set that is not a known one: clients leave "
          "out samples of another"),
      classes_binding(),
      optional_list<std::string>(
          "data.class_names", AT(data.class_names), "a list of different names, not empty",
          [](const std::vector<std::string>& names) {
            const std::set<std::string> different(names.begin(), names.end());
            return different.size() == names.size() && !different.contains("");
          },
          "names of the classes in their order, where sources name them (folders of images)"),
      real("data.test_fraction", AT(data.test_fraction), Low::kOpen, 0.0, 0.9, kDecidesModel,
           "share of each class held out for testing where there is no test data"),
      text("data.partition", AT(data.partition), kDecidesModel,
           "how samples are cut over clients: iid, stratified, dirichlet(ALPHA), shards(K), users; "
           "or "
           "repeat(K): K samples for each of any number of clients"),
      text("data.features", AT(data.features), kDecidesModel,
           "fixed features that the network sees instead of the samples", feature_names()),
      views_binding(),
      boolean("data.normalize", AT(data.normalize), kDecidesModel,
              "subtract mean, divide by deviation (a known set's own unless given)"),
      list<double>("data.mean", AT(data.mean), "a list of 1 or 3 numbers", finite, {0, 1, 3},
                   kDecidesModel, "mean for each channel, after scaling bytes to [0, 1]"),
      list<double>("data.deviation", AT(data.deviation), "a list of 1 or 3 positive numbers",
                   positive, {0, 1, 3}, kDecidesModel, "standard deviation for each channel"),
      list<std::int64_t>("data.resize", AT(data.resize),
                         "[channels, height, width], each in [1, 8192]", extent, {0, 3},
                         kDecidesModel, "shape that the network is given; images are enlarged"),
      whole("data.crop_padding", AT(data.crop_padding), 0, 1000, kDecidesModel,
            "augmentation: random crop after padding with so many pixels"),
      boolean("data.flip", AT(data.flip), kDecidesModel, "augmentation: random left-right flip"),
      real("data.rotation", AT(data.rotation), Low::kClosed, 0.0, 180.0, kDecidesModel,
           "augmentation: random rotation up to so many degrees"),

      text("model.name", AT(model.name), kDecidesModel, "a network (`sotto models`)"),
      text("model.file", AT(model.file), kDecidesModel, "a TorchScript file instead"),

      choice("train.optimizer", AT(train.optimizer), kDecidesModel, "local optimizer"),
      choice("train.engine", AT(train.engine), kDecidesModel,
             "what trains: `native` where it applies, else `torch`"),
      real("train.lr", AT(train.lr), Low::kOpen, 0.0, 1000.0, kDecidesModel, "learning rate"),
      real("train.momentum", AT(train.momentum), Low::kClosed, 0.0, 0.999, kDecidesModel,
           "momentum of sgd"),
      real("train.weight_decay", AT(train.weight_decay), Low::kClosed, 0.0, 10.0, kDecidesModel,
           "L2 penalty, added to the gradient"),
      whole("train.batch_size", AT(train.batch_size), 1, 1'000'000, kDecidesModel,
            "samples a step"),
      whole("train.epochs", AT(train.epochs), 1, 100'000, kDecidesModel,
            "passes over a client's data in one round"),
      real("train.clip", AT(train.clip), Low::kClosed, 0.0, 1e6, kDecidesModel,
           "DP-SGD: l2 norm that each sample's gradient is clipped to; 0: plain training"),
      real("train.noise", AT(train.noise), Low::kClosed, 0.0, 1e6, kDecidesModel,
           "DP-SGD: deviation of the noise on the sum of a lot, in clips"),
      boolean("train.keep_optimizer", AT(train.keep_optimizer), kDecidesModel,
              "whether a client's optimizer goes on where it was in its last round"),
      text("train.device", AT(train.device), kOnlyRun, "cpu, cuda or cuda:N"),

      choice("federation.mode", AT(federation.mode), kDecidesModel,
             "whether clients share a model, or every one learns alone and shares nothing"),
      whole("federation.clients", AT(federation.clients), 0, kMany, kDecidesModel,
            "number of clients; 0 with partition users: as many as the data has"),
      real("federation.fraction", AT(federation.fraction), Low::kOpen, 0.0, 1.0, kDecidesModel,
           "share of the clients that take part in a round"),
      whole("federation.k", AT(federation.k), 0, kMany, kDecidesModel,
            "number of clients in a round, instead of fraction; 0: by fraction"),
      choice(
          "federation.selection", AT(federation.selection), kDecidesModel,
          "who takes part: as many as fraction or k say, picked by the server; every update, "
          "accepted with that probability by a module that tells nobody which; or every client, in "
          "one round only"),
      whole("federation.rounds", AT(federation.rounds), 1, 1'000'000, kOnlyRun,
            "number of rounds at most"),
      whole("federation.patience", AT(federation.patience), 0, 1'000'000, kOnlyRun,
            "stop after so many evaluations without a better accuracy on the public test set; "
            "0: never"),
      whole("federation.evaluate_every", AT(federation.evaluate_every), 1, 1'000'000, kOnlyRun,
            "rounds between evaluations"),
      whole("federation.seed", AT(federation.seed), 0, std::numeric_limits<std::int64_t>::max(),
            kDecidesModel, "decides everything random in the run"),

      text("privacy.mechanism", AT(privacy.mechanism), kDecidesModel,
           "what a client's weights pass before they leave it", mechanism_names()),
      optional_number(
          "privacy.centre", [](Recipe& recipe, double value) { recipe.privacy.centre = value; },
          AT(privacy.centre), "a number",
          "centre of the range that weights are clipped to; 0 if not given"),
      optional_number(
          "privacy.radius", [](Recipe& recipe, double value) { recipe.privacy.radius = value; },
          AT(privacy.radius), "a number above 0",
          "radius of the range that weights are clipped to; 1 if not given"),
  };
  add_mechanism_parameters(bindings);
  for (KeyBinding& binding : statistics_bindings()) bindings.push_back(std::move(binding));
  for (KeyBinding& binding : encode_bindings()) bindings.push_back(std::move(binding));
  const KeyBinding more[] = {
      limits("privacy.client_budgets", AT(privacy.client_budgets), "number above 0", positive,
             "clients take turns with these, instead of one epsilon, alpha or schedule.total for "
             "all; clients with different budgets are in different batches"),
      messages_binding(),
      choice("bound.payload", AT(bound.payload), kDecidesModel,
             "what a client sends: its weights, their difference to the model it was given, or the "
             "gradient of the loss over its data"),
      boolean("bound.normalize", AT(bound.normalize), kDecidesModel,
              "vector mechanisms: whether every payload is made as long as privacy.norm"),
      floor_binding(),
      choice("bound.range", AT(bound.range), kDecidesModel,
             "ranges as given; by the initial weights; or adapted after each round to what was "
             "released, from given ones or the initial weights"),
      real("bound.margin", AT(bound.margin), Low::kOpen, 1.0, 1000.0, kDecidesModel,
           "radius of an initial or adaptive range, in standard deviations"),
      choice(
          "bound.buffers", AT(bound.buffers), kDecidesModel,
          "statistics of batch norm: sent through the mechanism like weights, kept by each client, "
          "or started afresh in each round"),
      text("schedule.mode", AT(schedule.mode), kDecidesModel,
           "which layers are sent in a round: " + schedule_meanings(), schedule_names()),
      whole("schedule.cycles", AT(schedule.cycles), 1, 1'000'000, kDecidesModel,
            "how often the schedule goes through the layers"),
      optional_number(
          "schedule.total", [](Recipe& recipe, double value) { recipe.schedule.total = value; },
          AT(schedule.total), "a number above 0",
          "budget of a client for the whole training, split over rounds, layers and weights, "
          "instead of privacy.epsilon or privacy.alpha for each weight"),
      boolean("schedule.sampling_credit", AT(schedule.sampling_credit), kDecidesModel,
              "LDP-Fed's rule: budgets are divided by the share of clients in a round"),
      real("server.lr", AT(server.lr), Low::kOpen, 0.0, 1e6, kDecidesModel,
           "how far the model moves along a round's result"),
      real("server.momentum", AT(server.momentum), Low::kClosed, 0.0, 0.9999, kDecidesModel,
           "share of the last step that the next one keeps"),
      choice("server.decay", AT(server.decay), kDecidesModel,
             "server.lr over the rounds: constant, or a half cosine down to 0"),
      boolean("aggregate.secure", AT(aggregate.secure), kDecidesModel,
              "secure aggregation: the server sees the sum of a round's reports and nothing else"),
      real("aggregate.threshold", AT(aggregate.threshold), Low::kOpen, 0.0, 1.0, kDecidesModel,
           "share of a round's clients without whose reports nothing is unmasked (2 at least)"),
      real("aggregate.dropout", AT(aggregate.dropout), Low::kClosed, 0.0, 0.99, kDecidesModel,
           "simulated probability that a client vanishes after sharing keys and before its report"),
      whole("aggregate.honest", AT(aggregate.honest), 0, kMany, kDecidesModel,
            "Hybrid: so many honest clients in every sum share the noise of DP-SGD; 0: each adds "
            "all of it"),
      // Neither the mode nor the split changes a sum, but both change what a client was promised: a
      // run that goes on must keep the promise of the rounds before.
      choice("shuffle.mode", AT(shuffle.mode), kDecidesModel,
             "what stands between clients and server: nothing, random delays, or a shuffler that "
             "hides who sent what"),
      whole("shuffle.split", AT(shuffle.split), 0, kMany, kDecidesModel,
            "weights of one client that travel together; 0: the whole report"),
      whole("shuffle.min_batch", AT(shuffle.min_batch), 1, kMany, kDecidesModel,
            "reports that a round must have for anything to be released"),
      real("shuffle.latency", AT(shuffle.latency), Low::kOpen, 0.0, 1e6, kDecidesModel,
           "seconds that a chunk waits at most, in mode latency"),
      real("account.delta", AT(account.delta), Low::kOpen, 0.0, 0.1, kOnlyRun,
           "probability with which a composed claim may fail"),
      real("account.honest", AT(account.honest), Low::kOpen, 0.0, 1.0, kOnlyRun,
           "share of a batch's other members who are honest: the rest hides nobody"),
      boolean("ledger.keep", AT(ledger.keep), kOnlyRun,
              "whether what each client spends is written to a ledger"),
      // Limits decide who takes part, and so the model.
      limits("ledger.epsilon_per_round", AT(ledger.epsilon_per_round), "number above 0", positive,
             "the most that a client spends in a round"),
      limits("ledger.epsilon", AT(ledger.epsilon), "number above 0", positive,
             "the most that a client spends in its lifetime"),
      limits(
          "ledger.delta", AT(ledger.delta), "number in [0, 1]",
          [](double value) { return value >= 0.0 && value <= 1.0; },
          "what the lifetime epsilon may fail with; account.delta if not given"),
      limits(
          "ledger.rounds", AT(ledger.rounds), "whole number above 0",
          [](double value) { return value >= 1.0 && value <= kMany && value == std::floor(value); },
          "the most rounds that a client takes part in"),
  };
  bindings.insert(bindings.end(), std::begin(more), std::end(more));
  bindings.push_back(
      text("output.name", AT(output.name), kOnlyRun, "name of the run; the recipe's file name"));
  bindings.push_back(whole("output.checkpoint_every", AT(output.checkpoint_every), 1, 1'000'000,
                           kOnlyRun, "rounds between checkpoints"));
  return bindings;
}

#undef AT

}  // namespace

const std::vector<KeyBinding>& key_bindings() {
  static const std::vector<KeyBinding> kBindings = make_bindings();
  return kBindings;
}

}  // namespace sotto
