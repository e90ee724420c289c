#include "recipe/recipe_check.h"

#include <algorithm>
#include <memory>

#include "base/nearest.h"
#include "base/text.h"
#include "sotto/data.h"

namespace sotto {
namespace {

template <class Choice>
std::string quoted(Choice choice) {
  return '"' + std::string(name_of(choice)) + '"';
}

bool from_command_line(const Given& given, const std::string& key) {
  const auto it = given.find(key);
  return it != given.end() && it->second.starts_with("--set ");
}

/// Whether the mechanism clips to something else than a range that it is given.
bool ignores_range(const MechanismInfo& info) {
  if (info.kind != MechanismKind::kValue) return true;
  if (!info.parameters.empty()) return false;
  auto layout = std::make_shared<Layout>();
  layout->add("w", {1}, TensorRole::kParameter);
  const auto made = make_mechanism(info.name, Domain{std::move(layout), {{0.0, 1.0}}});
  return made && (*made)->domain().ranges.front().radius != 1.0;
}

/// Budgets for a whole training or for single clients take the place of one parameter.
Result<void> check_budget(const Given& given, const MechanismInfo& info, Recipe& recipe) {
  const bool replaced = from_command_line(given, "privacy.mechanism");
  const std::optional<std::string> parameter = budget_parameter(info);
  const auto check = [&](const std::string& key, const auto& take_out) -> Result<void> {
    if (!parameter) {
      if (replaced && !from_command_line(given, key)) {
        take_out();
        return {};
      }
      return fail(ErrorKind::kUsage, given.at(key) + ": " + key + ": mechanism \"" +
                                         recipe.privacy.mechanism + "\" has no budget to split");
    }
    for (const char* const one : {"epsilon", "alpha"}) {
      const std::string own = std::string("privacy.") + one;
      if (!recipe.privacy.parameters.contains(one)) continue;
      // The later word counts: a budget on the command line replaces the file's epsilon.
      if (from_command_line(given, key) && !from_command_line(given, own)) {
        recipe.privacy.parameters.erase(one);
        continue;
      }
      return fail(ErrorKind::kUsage,
                  given.at(key) + ": " + key + " and " + own + " are both given; keep one");
    }
    return {};
  };
  if (recipe.schedule.total) {
    if (!(*recipe.schedule.total > 0.0)) {
      return fail(ErrorKind::kUsage,
                  given.at("schedule.total") + ": schedule.total must be a number above 0");
    }
    SOTTO_CHECK(check("schedule.total", [&] { recipe.schedule.total.reset(); }));
  }
  if (!recipe.privacy.client_budgets.empty()) {
    SOTTO_CHECK(check("privacy.client_budgets", [&] { recipe.privacy.client_budgets.clear(); }));
  }
  return {};
}

/// Parameters of [[tensor]] entries must be the mechanism's. A mechanism that --set has put in
/// place of the file's has its own.
Result<void> check_tensor_parameters(const MechanismInfo& info, bool replaced, Recipe& recipe) {
  for (TensorRule& rule : recipe.tensors) {
    for (auto it = rule.parameters.begin(); it != rule.parameters.end();) {
      const auto parameter =
          std::find_if(info.parameters.begin(), info.parameters.end(),
                       [&](const ParameterInfo& p) { return p.name == it->first; });
      const std::string where = recipe.file + ": [[tensor]] match = \"" + rule.match + "\": ";
      if (parameter != info.parameters.end()) {
        if (!parameter->accepts(it->second)) {
          return fail(ErrorKind::kUsage, where + it->first + " = " + short_number(it->second) +
                                             ": must be " + parameter->valid());
        }
        ++it;
      } else if (replaced) {
        it = rule.parameters.erase(it);
      } else {
        return fail(ErrorKind::kUsage, where + "mechanism \"" + recipe.privacy.mechanism +
                                           "\" takes no '" + it->first + "'");
      }
    }
  }
  return {};
}

/// Keys of [privacy] must belong to the mechanism and lie in its intervals. When --set chooses
/// another mechanism than the file, the file's keys that it has no use for are left out.
Result<void> check_privacy(const Given& given, Recipe& recipe) {
  const std::string& file = recipe.file;
  Recipe::Privacy& privacy = recipe.privacy;
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(privacy.mechanism));
  const std::string mechanism = "mechanism \"" + privacy.mechanism + '"';
  if (info->kind == MechanismKind::kBits) {
    return fail(ErrorKind::kUsage,
                given.at("privacy.mechanism") + ": privacy.mechanism = \"" + privacy.mechanism +
                    "\": its reports are bits of encoded features, not weights; a recipe needs a "
                    "mechanism for values or vectors (`sotto mechanisms`)");
  }
  const bool replaced = from_command_line(given, "privacy.mechanism");
  const auto drops = [&](const std::string& key) {
    return replaced && !from_command_line(given, key);
  };
  std::vector<std::string> taken;
  for (const ParameterInfo& parameter : info->parameters) taken.emplace_back(parameter.name);
  for (auto it = privacy.parameters.begin(); it != privacy.parameters.end();) {
    const std::string key = "privacy." + it->first;
    const auto parameter =
        std::find_if(info->parameters.begin(), info->parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == it->first; });
    if (parameter == info->parameters.end()) {
      if (!drops(key)) {
        return fail(ErrorKind::kUsage,
                    given.at(key) + ": " + key + ": " + mechanism + " takes no '" + it->first +
                        "'; it takes: " + (taken.empty() ? "no parameter" : join(taken)));
      }
      it = privacy.parameters.erase(it);
      continue;
    }
    if (!parameter->accepts(it->second)) {
      return fail(ErrorKind::kUsage, given.at(key) + ": " + key + " = " + short_number(it->second) +
                                         ": must be " + parameter->valid() + " for " + mechanism);
    }
    ++it;
  }
  SOTTO_CHECK(check_budget(given, *info, recipe));
  const std::optional<std::string> budget = budget_parameter(*info);
  const bool split = recipe.schedule.total || !privacy.client_budgets.empty();
  for (const ParameterInfo& parameter : info->parameters) {
    if (!parameter.required || parameter.default_value) continue;
    if (privacy.parameters.contains(parameter.name)) continue;
    if (split && parameter.name == budget) continue;
    return fail(ErrorKind::kUsage, file + ": privacy." + std::string(parameter.name) +
                                       " is missing: " + mechanism + " needs it, " +
                                       parameter.valid() + ": " + std::string(parameter.meaning));
  }
  if (privacy.radius && !(*privacy.radius > 0.0)) {
    return fail(ErrorKind::kUsage, given.at("privacy.radius") +
                                       ": privacy.radius = " + short_number(*privacy.radius) +
                                       ": must be a number above 0");
  }
  SOTTO_CHECK(check_tensor_parameters(*info, replaced, recipe));
  if (!ignores_range(*info)) return {};
  if (recipe.bound.range != RangeRule::kFixed) {
    if (!drops("bound.range")) {
      return fail(ErrorKind::kUsage, given.at("bound.range") +
                                         ": bound.range = " + quoted(recipe.bound.range) + ": " +
                                         mechanism + " has no range to choose");
    }
    recipe.bound.range = RangeRule::kFixed;
  }
  for (TensorRule& rule : recipe.tensors) {
    if (!replaced && (rule.centre || rule.radius)) {
      return fail(ErrorKind::kUsage, file + ": [[tensor]] match = \"" + rule.match +
                                         "\": " + mechanism + " has no range to choose");
    }
    rule.centre.reset();
    rule.radius.reset();
  }
  const std::pair<std::string, std::optional<double>*> ends[] = {
      {"privacy.centre", &privacy.centre}, {"privacy.radius", &privacy.radius}};
  for (const auto& [key, value] : ends) {
    if (*value && !drops(key)) {
      return fail(ErrorKind::kUsage,
                  given.at(key) + ": " + key + ": " + mechanism + " has no range to choose");
    }
    value->reset();
  }
  return {};
}

/// Several messages of what no mechanism draws would be one.
Result<void> check_messages(const Given& given, Recipe& recipe) {
  if (recipe.privacy.messages == 1 || recipe.privacy.on()) return {};
  if (from_command_line(given, "privacy.mechanism") &&
      !from_command_line(given, "privacy.messages")) {
    recipe.privacy.messages = 1;
    return {};
  }
  return fail(ErrorKind::kUsage, given.at("privacy.messages") +
                                     ": privacy.messages: needs a mechanism (privacy.mechanism): "
                                     "without noise all messages of a client are the same");
}

/// What only a shuffler does needs one. When --set takes the shuffler away, the file's keys for it
/// go with it.
Result<void> check_shuffle(const Given& given, Recipe& recipe) {
  Recipe::Shuffle& shuffle = recipe.shuffle;
  const Recipe::Shuffle defaults;
  const auto needs = [&](const std::string& key, const std::string& modes) -> Result<void> {
    if (!from_command_line(given, "shuffle.mode") || from_command_line(given, key)) {
      return fail(ErrorKind::kUsage,
                  given.at(key) + ": " + key + ": needs shuffle.mode = " + modes);
    }
    return {};
  };
  if (shuffle.mode == ShuffleMode::kNone && shuffle.split != defaults.split) {
    SOTTO_CHECK(needs("shuffle.split", "\"shuffler\" or \"latency\", which mix chunks"));
    shuffle.split = defaults.split;
  }
  if (shuffle.mode != ShuffleMode::kShuffler && shuffle.min_batch != defaults.min_batch) {
    SOTTO_CHECK(needs("shuffle.min_batch", "\"shuffler\", which makes batches"));
    shuffle.min_batch = defaults.min_batch;
  }
  if (shuffle.mode != ShuffleMode::kLatency && given.contains("shuffle.latency")) {
    SOTTO_CHECK(needs("shuffle.latency", "\"latency\""));
    shuffle.latency = defaults.latency;
  }
  return {};
}

/// When --set takes away what a floor or views are for, the file's go with it.
Result<void> check_gradient(const Given& given, Recipe& recipe) {
  const auto needs = [&](const std::string& key, const std::string& needed,
                         const std::string& what) -> Result<void> {
    if (from_command_line(given, needed) && !from_command_line(given, key)) return {};
    return fail(ErrorKind::kUsage, given.at(key) + ": " + key + ": needs " + needed + what);
  };
  if (!recipe.bound.normalize && given.contains("bound.floor")) {
    SOTTO_CHECK(needs("bound.floor", "bound.normalize", " = true: nothing is stretched without"));
  }
  if (recipe.bound.payload != Payload::kGradient && !recipe.data.views.empty()) {
    SOTTO_CHECK(needs("data.views", "bound.payload",
                      " = \"gradient\", which is the mean over the views (training has "
                      "data.crop_padding, data.flip and data.rotation)"));
    recipe.data.views.clear();
  }
  if (recipe.encode.on() && !recipe.data.views.empty()) {
    return fail(ErrorKind::kUsage, given.at("data.views") +
                                       ": data.views: records that are encoded ([encode]) have no "
                                       "views");
  }
  return {};
}

/// What a recipe says of samples is said whole, and a known set has its own.
Result<void> check_samples(const Recipe& recipe) {
  const Recipe::Data& data = recipe.data;
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::kUsage, recipe.file + ": " + what);
  };
  if (data.shape.empty() != (data.classes == 0))
    return wrong("data.shape and data.classes go together");
  if (!data.class_names.empty() &&
      static_cast<std::int64_t>(data.class_names.size()) != data.classes) {
    return wrong("data.class_names: " + std::to_string(data.class_names.size()) +
                 " names, and data.classes = " + std::to_string(data.classes));
  }
  if (!data.shape.empty() && find_known_set(data.name) != nullptr) {
    return wrong("data.shape and data.classes: " + data.name + " is a known set and has its own");
  }
  return {};
}

Result<void> check_together(const Given& given, const Recipe& recipe) {
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::kUsage, recipe.file + ": " + what);
  };
  if (recipe.data.name.empty()) {
    return wrong("data.name is missing: a known set (`sotto data list`) or a path");
  }
  if (recipe.model.name.empty() == recipe.model.file.empty()) {
    return wrong(recipe.model.name.empty() ? "model.name (`sotto models`) or model.file is missing"
                                           : "model.name and model.file are both given; keep one");
  }
  if (given.contains("federation.fraction") && recipe.federation.k > 0) {
    return wrong("federation.fraction and federation.k are both given; keep one");
  }
  if (recipe.federation.clients == 0 && !recipe.data.by_user()) {
    return wrong("federation.clients = 0 is valid only with data.partition = \"users\"");
  }
  if (recipe.federation.clients > 0 && recipe.federation.k > recipe.federation.clients) {
    return wrong("federation.k = " + std::to_string(recipe.federation.k) + ": must be at most " +
                 std::to_string(recipe.federation.clients) + " (federation.clients)");
  }
  if (const auto& resize = recipe.data.resize; !resize.empty()) {
    // As floating-point numbers a batch of them is four times as many bytes.
    constexpr double kMostValues = 0x1p28;
    const auto sample = static_cast<double>(resize[0] * resize[1] * resize[2]);
    const double values = sample * static_cast<double>(recipe.train.batch_size);
    if (values > kMostValues) {
      return wrong("data.resize makes samples of " + short_number(sample) +
                   " values, and train.batch_size = " + std::to_string(recipe.train.batch_size) +
                   " batches of " + short_number(values) + "; valid: at most " +
                   short_number(kMostValues));
    }
  }
  if (recipe.data.mean.empty() != recipe.data.deviation.empty()) {
    return wrong("data.mean and data.deviation go together");
  }
  if (recipe.ledger.limits() && !recipe.ledger.keep) {
    return wrong("ledger.keep = false: limits of [ledger] need a ledger that keeps them");
  }
  if (recipe.bound.payload != Payload::kWeights && recipe.bound.range == RangeRule::kInitial) {
    return wrong("bound.range = \"initial\": the initial weights say nothing about a " +
                 std::string(name_of(recipe.bound.payload)) + "; give privacy.radius");
  }
  if (recipe.bound.payload != Payload::kWeights && recipe.bound.range == RangeRule::kAdaptive &&
      !recipe.privacy.radius) {
    return wrong("bound.range = \"adaptive\" starts from privacy.radius with payload " +
                 std::string(name_of(recipe.bound.payload)) + "; it is missing");
  }
  if (recipe.train.momentum > 0.0 && recipe.train.optimizer != Optimizer::kSgd) {
    return wrong("train.momentum belongs to optimizer \"sgd\", not " +
                 quoted(recipe.train.optimizer));
  }
  return {};
}

}  // namespace

std::optional<std::string> budget_parameter(const MechanismInfo& info) {
  for (const char* const name : {"alpha", "epsilon"}) {
    for (const ParameterInfo& parameter : info.parameters) {
      if (parameter.name == name) return name;
    }
  }
  return std::nullopt;
}

Result<void> check_recipe(const Given& given, Recipe& recipe) {
  SOTTO_CHECK(check_privacy(given, recipe));
  SOTTO_CHECK(check_together(given, recipe));
  SOTTO_CHECK(check_samples(recipe));
  SOTTO_CHECK(check_gradient(given, recipe));
  SOTTO_CHECK(check_messages(given, recipe));
  return check_shuffle(given, recipe);
}

}  // namespace sotto
