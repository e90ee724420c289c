#include "recipe/encode_keys.h"

#include "base/nearest.h"
#include "base/text.h"
#include "recipe/recipe_bindings.h"
#include "sotto/data.h"
#include "sotto/mechanism.h"

namespace sotto {
namespace {

/// The one of the mechanism's parameters that is called `name`; null where it has none.
const ParameterInfo* parameter_of(const MechanismInfo& info, std::string_view name) {
  const auto at = std::ranges::find(info.parameters, name, &ParameterInfo::name);
  return at == info.parameters.end() ? nullptr : &*at;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) names.emplace_back(set.name);
  return names;
}

/// One optional number of [encode] against the mechanism's parameter that it stands for.
Result<void> check_number(const std::string& place, const std::string& key,
                          const ParameterInfo* parameter, const std::string& mechanism,
                          const std::optional<double>& value) {
  if (!value) {
    if (parameter == nullptr || parameter->default_value) return {};
    return fail(ErrorKind::kUsage, place + ": " + key + " is missing: mechanism \"" + mechanism +
                                       "\" needs it, " + parameter->valid());
  }
  if (parameter == nullptr) {
    return fail(ErrorKind::kUsage,
                place + ": " + key + ": mechanism \"" + mechanism + "\" does not take it");
  }
  if (!parameter->accepts(*value)) {
    return fail(ErrorKind::kUsage, place + ": " + key + " = " + short_number(*value) +
                                       ": must be " + parameter->valid());
  }
  return {};
}

}  // namespace

std::vector<std::string> encode_mechanisms() {
  std::vector<std::string> names = {"none"};
  for (const MechanismInfo& info : mechanisms()) {
    if (info.kind == MechanismKind::kBits && parameter_of(info, "whole") != nullptr) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

#define AT(member) \
  [](auto& recipe) -> auto& { return recipe.encode.member; }
#define SET(member) [](Recipe& recipe, double value) { recipe.encode.member = value; }

std::vector<KeyBinding> encode_bindings() {
  std::vector<std::string> mechanisms = encode_mechanisms();
  std::vector<KeyBinding> bindings = {
      text("encode.network", AT(network), kDecidesModel,
           "a network (`sotto models`) whose features stand for a record; with it, records are "
           "encoded as bits and randomized once, and the model is trained on these"),
      text("encode.data", AT(data), kDecidesModel,
           "public known set that the network is trained on; if empty, each client trains its own "
           "network on its own records"),
      choice("encode.layer", AT(layer), kDecidesModel,
             "which values of the network are features: what its flattening layer yields, or its "
             "outputs"),
      whole("encode.features", AT(features), 0, 1'000'000, kDecidesModel,
            "how many features are kept: the means of so many groups of neighbours; 0: every one"),
      whole("encode.whole_bits", AT(whole_bits), 0, 15, kDecidesModel,
            "bits of a feature's whole number, beside its sign"),
      whole("encode.fraction_bits", AT(fraction_bits), 0, 16, kDecidesModel,
            "bits of a feature's fraction"),
      text("encode.mechanism", AT(mechanism), kDecidesModel, "what the bits of a record pass",
           mechanisms),
      optional_number("encode.epsilon", SET(epsilon), AT(epsilon), "a number",
                      "what the mechanism claims for all bits of a record together"),
      optional_number(
          "encode.alpha", SET(alpha), AT(alpha), "a number",
          "LDPFL's privacy budget coefficient, of ldpfl-1 and ldpfl-2; 10 if not given"),
      optional_number("encode.label_epsilon", SET(label_epsilon), AT(label_epsilon), "a number",
                      "randomized response on the label with this epsilon; if not given, labels "
                      "have no protection"),
      choice("encode.test", AT(test), kDecidesModel,
             "whether test records are randomized like training records or only encoded"),
      choice("encode.optimizer", AT(optimizer), kDecidesModel, "optimizer of the encoding network"),
      real("encode.lr", AT(lr), Low::kOpen, 0.0, 1000.0, kDecidesModel, "its learning rate"),
      real("encode.lr_decay", AT(lr_decay), Low::kClosed, 0.0, 1.0, kDecidesModel,
           "step t has the learning rate lr / (1 + lr_decay t)"),
      real("encode.weight_decay", AT(weight_decay), Low::kClosed, 0.0, 10.0, kDecidesModel,
           "its L2 penalty"),
      whole("encode.batch_size", AT(batch_size), 1, 1'000'000, kDecidesModel, "samples a step"),
      whole("encode.epochs", AT(epochs), 0, 100'000, kDecidesModel,
            "passes over its data; 0: the network stays as it was initialised"),
  };
  for (KeyBinding& binding : bindings) {
    binding.applies = [](const Recipe& recipe) { return recipe.encode.on(); };
  }
  return bindings;
}

#undef AT
#undef SET

Result<void> check_encode(const std::string& file, const std::map<std::string, std::string>& given,
                          Recipe& recipe) {
  Recipe::Encode& encode = recipe.encode;
  const auto place = [&](const std::string& key) {
    const auto it = given.find(key);
    return it == given.end() ? file : it->second;
  };
  if (!encode.on()) {
    for (const auto& [key, where] : given) {
      // --set encode.network="" switches the stage of the file off, and its keys with it.
      if (!key.starts_with("encode.") || given.contains("encode.network")) continue;
      return fail(ErrorKind::kUsage, where + ": " + key + ": needs encode.network");
    }
    encode = {};
    return {};
  }
  if (encode.mechanism.empty()) {
    return fail(ErrorKind::kUsage,
                file + ": encode.mechanism is missing; valid: " + join(encode_mechanisms()));
  }
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(encode.mechanism));
  // When --set chooses another mechanism than the file, the file's alpha goes if it has no use.
  const bool replaced = place("encode.mechanism").starts_with("--set ");
  const ParameterInfo* const alpha = parameter_of(*info, "coefficient");
  if (replaced && alpha == nullptr && !place("encode.alpha").starts_with("--set ")) {
    encode.alpha.reset();
  }
  const ParameterInfo* const epsilon = parameter_of(*info, "epsilon");
  if (replaced && epsilon == nullptr && !place("encode.epsilon").starts_with("--set ")) {
    encode.epsilon.reset();
  }
  SOTTO_CHECK(check_number(place("encode.epsilon"), "encode.epsilon", epsilon, encode.mechanism,
                           encode.epsilon));
  SOTTO_CHECK(
      check_number(place("encode.alpha"), "encode.alpha", alpha, encode.mechanism, encode.alpha));
  if (encode.label_epsilon) {
    SOTTO_TRY(const MechanismInfo* const of_label, find_mechanism("ldpfl-exact"));
    SOTTO_CHECK(check_number(place("encode.label_epsilon"), "encode.label_epsilon",
                             parameter_of(*of_label, "epsilon"), "ldpfl-exact",
                             encode.label_epsilon));
  } else if (encode.mechanism == "ldpfl-exact") {
    return fail(ErrorKind::kUsage,
                file +
                    ": encode.label_epsilon is missing: \"ldpfl-exact\" promises a record its "
                    "epsilon, and a record has a label");
  }
  if (encode.whole_bits + encode.fraction_bits < 1) {
    return fail(ErrorKind::kUsage, place("encode.whole_bits") +
                                       ": encode.whole_bits and encode.fraction_bits: at least one "
                                       "bit beside the sign is needed");
  }
  if (!encode.data.empty() && find_known_set(encode.data) == nullptr) {
    return fail(ErrorKind::kUsage,
                place("encode.data") + ": encode.data = \"" + encode.data + "\": not a known set" +
                    did_you_mean(encode.data, known_names()) + "; valid: " + join(known_names()));
  }
  if (recipe.privacy.on()) {
    return fail(ErrorKind::kUsage,
                place("privacy.mechanism") + ": privacy.mechanism = \"" + recipe.privacy.mechanism +
                    "\": with [encode] records are randomized, and what is trained on them is sent "
                    "as it is; valid: \"none\"");
  }
  return {};
}

}  // namespace sotto
