#include "recipe/statistics_keys.h"

#include "base/nearest.h"
#include "base/text.h"
#include "plan/feature_statistics.h"
#include "recipe/recipe_bindings.h"
#include "sotto/data.h"

namespace sotto {
namespace {

/// Those that add up bounded vectors; "none" is for comparisons.
std::vector<std::string> statistics_mechanisms() {
  std::vector<std::string> names;
  for (const MechanismInfo& info : mechanisms()) {
    if (info.kind == MechanismKind::kVector) names.emplace_back(info.name);
  }
  names.emplace_back("none");
  return names;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.emplace_back(set.name);
  return names;
}

/// The first key of the recipe that statistics do not go with, and what it must be instead.
const char* conflict(const Recipe& recipe) {
  const std::string& network = recipe.model.name;
  if (!recipe.data.has_features()) {
    return "data.features: there is nothing to centre without features";
  }
  if (network != "linear" && !network.starts_with("mlp(")) {
    return "model.name: a network that begins with a linear layer is needed: linear or mlp(...)";
  }
  if (recipe.bound.payload != Payload::kGradient) return "bound.payload must be \"gradient\"";
  if (recipe.bound.range != RangeRule::kFixed) return "bound.range must be \"fixed\"";
  if (recipe.bound.buffers != BufferRule::kPerturb) return "bound.buffers must be \"perturb\"";
  if (recipe.encode.on()) return "encode.network: records that are encoded have no features";
  if (recipe.aggregate.secure) return "aggregate.secure must be false";
  if (recipe.federation.mode != FederationMode::kFederated) {
    return "federation.mode must be \"federated\"";
  }
  if (!recipe.statistics.reported()) return nullptr;
  if (recipe.federation.selection == SelectionRule::kOnce) {
    return "federation.selection = \"once\": who reports the mean would report no gradient; use "
           "statistics.mean = \"public\"";
  }
  if (recipe.schedule.total || !recipe.privacy.client_budgets.empty() ||
      recipe.schedule.sampling_credit) {
    return "schedule.total, schedule.sampling_credit and privacy.client_budgets split a budget "
           "over weights alone; give privacy.epsilon";
  }
  return nullptr;
}

}  // namespace

#define AT(member) \
  [](auto& recipe) -> auto& { return recipe.statistics.member; }

std::vector<KeyBinding> statistics_bindings() {
  std::vector<KeyBinding> bindings = {
      choice("statistics.mean", AT(mean), kDecidesModel,
             "where the mean comes from by which features are centred: reports of the clients in "
             "the first rounds, or a public set; with none, features stay as they are"),
      text("statistics.public", AT(data), kDecidesModel,
           "the public known set, other than data.name, with mean public"),
      whole("statistics.rounds", AT(rounds), 1, 1'000'000, kDecidesModel,
            "how many first rounds of the training report the mean, with mean private"),
      text("statistics.mechanism", AT(mechanism), kDecidesModel,
           "what these reports pass; privacy.mechanism if empty", statistics_mechanisms()),
      optional_number(
          "statistics.epsilon",
          [](Recipe& recipe, double value) { recipe.statistics.epsilon = value; }, AT(epsilon),
          "a number", "epsilon of each of these reports; privacy.epsilon if not given"),
  };
  for (KeyBinding& binding : bindings) {
    binding.applies = [](const Recipe& recipe) { return recipe.statistics.on(); };
  }
  return bindings;
}

#undef AT

Result<void> check_statistics(const Given& given, const Recipe& recipe) {
  const Recipe::Statistics& keys = recipe.statistics;
  const auto wrong = [&](const std::string& key, const std::string& what) {
    const auto it = given.find(key);
    return fail(ErrorKind::kUsage,
                (it == given.end() ? recipe.file : it->second) + ": " + key + ": " + what);
  };
  const auto needs = [&](std::initializer_list<const char*> names,
                         const std::string& source) -> Result<void> {
    for (const char* const name : names) {
      const std::string key = std::string("statistics.") + name;
      // --set statistics.mean takes the file's other keys with it.
      const bool replaced = given.contains("statistics.mean") &&
                            given.at("statistics.mean").starts_with("--set ") &&
                            given.contains(key) && !given.at(key).starts_with("--set ");
      if (given.contains(key) && !replaced) {
        return wrong(key, "needs statistics.mean = \"" + source + '"');
      }
    }
    return {};
  };
  if (!keys.reported()) SOTTO_CHECK(needs({"rounds", "mechanism", "epsilon"}, "private"));
  if (keys.mean != StatisticSource::kPublic) SOTTO_CHECK(needs({"public"}, "public"));
  if (!keys.on()) return {};
  if (const char* const what = conflict(recipe)) {
    return wrong("statistics.mean", std::string("does not go with this recipe: ") + what);
  }
  if (!keys.reported()) {
    if (find_known_set(keys.data) == nullptr) {
      return wrong("statistics.public", '"' + keys.data + "\": not a known set" +
                                            did_you_mean(keys.data, known_names()) +
                                            "; valid: " + join(known_names()));
    }
    if (keys.data == recipe.data.name) {
      return wrong("statistics.public", '"' + keys.data +
                                            "\" is what the clients hold (data.name); statistics "
                                            "of it in the clear would have no protection: use "
                                            "statistics.mean = \"private\"");
    }
    return {};
  }
  if (keys.rounds >= recipe.federation.rounds) {
    return wrong("statistics.rounds", std::to_string(keys.rounds) + ": of the " +
                                          std::to_string(recipe.federation.rounds) +
                                          " rounds (federation.rounds) one at least must train");
  }
  const StatisticsMechanism of = statistics_mechanism(recipe);
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(of.name));
  if (info->kind != MechanismKind::kVector && of.name != "none") {
    return wrong("statistics.mechanism",
                 "privacy.mechanism = \"" + of.name +
                     "\" is not for bounded vectors; valid: " + join(statistics_mechanisms()));
  }
  for (const ParameterInfo& parameter : info->parameters) {
    const auto value = of.parameters.find(parameter.name);
    const std::string name(parameter.name);
    if (value == of.parameters.end()) {
      if (!parameter.required || parameter.default_value) continue;
      return wrong("statistics.mechanism",
                   '"' + of.name + "\" needs " + name + ", " + parameter.valid() +
                       (name == "epsilon" ? ": give statistics.epsilon"
                                          : ", which it takes from [privacy] "
                                            "where that has the same one"));
    }
    if (!parameter.accepts(value->second)) {
      return wrong("statistics.epsilon", short_number(value->second) + ": must be " +
                                             parameter.valid() + " for " + of.name);
    }
  }
  if (keys.epsilon && !of.parameters.contains("epsilon")) {
    return wrong("statistics.epsilon", '"' + of.name + "\" takes none");
  }
  return {};
}

}  // namespace sotto
