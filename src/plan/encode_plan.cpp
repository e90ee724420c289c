#include "plan/encode_plan.h"

#include <limits>

#include "base/text.h"
#include "sotto/data.h"

namespace sotto {
namespace {

std::shared_ptr<const Layout> flat_layout(const std::string& name, std::size_t size) {
  auto layout = std::make_shared<Layout>();
  layout->add(name, {static_cast<std::int64_t>(size)}, TensorRole::kParameter);
  return layout;
}

Result<std::shared_ptr<const Mechanism>> make(std::string_view name,
                                              std::shared_ptr<const Layout> layout,
                                              const Parameters& parameters) {
  Domain domain;
  domain.ranges.assign(layout->tensors().size(), Range{0.0, 1.0});
  domain.layout = std::move(layout);
  SOTTO_TRY(auto mechanism, make_mechanism(name, std::move(domain), parameters));
  return std::shared_ptr<const Mechanism>(std::move(mechanism));
}

/// For the features, or, under "none", for their bits.
Result<std::shared_ptr<const Mechanism>> bit_mechanism(const Recipe::Encode& encode,
                                                       const BitCode& code) {
  if (encode.mechanism == "none") return make("none", flat_layout("bits", code.bits()), {});
  Parameters parameters = {{"whole", static_cast<double>(encode.whole_bits)},
                           {"fraction", static_cast<double>(encode.fraction_bits)}};
  if (encode.epsilon) parameters["epsilon"] = *encode.epsilon;
  if (encode.alpha) parameters["coefficient"] = *encode.alpha;
  return make(encode.mechanism, flat_layout("features", code.values), parameters);
}

}  // namespace

Result<EncodePlan> plan_encoding(const Recipe& recipe, SampleShape input, std::int64_t classes) {
  const Recipe::Encode& encode = recipe.encode;
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::kUsage, recipe.file + ": " + what);
  };
  if (repeated_samples(recipe.data.partition)) {
    return wrong("[encode] randomizes every record once: data.partition = \"" +
                 recipe.data.partition + "\", which repeats them, has no meaning with it");
  }
  EncodePlan plan;
  const KnownSet* const trained_on = find_known_set(encode.data);
  auto network = find_network(encode.network, input, trained_on ? trained_on->classes : classes);
  if (!network) return at(recipe.file + ": encode.network", network.error());
  plan.network = std::move(*network);
  plan.layer = encode.layer;
  plan.outputs = static_cast<std::size_t>(
      plan.layer == FeatureLayer::kScores ? plan.network.classes : plan.network.features());
  if (plan.outputs == 0) {
    return wrong("encode.network = \"" + encode.network + "\" has no flattening layer");
  }
  plan.code.input = BitInput::kFeatures;
  plan.code.feature.whole = static_cast<unsigned>(encode.whole_bits);
  plan.code.feature.fraction = static_cast<unsigned>(encode.fraction_bits);
  plan.code.values =
      encode.features == 0 ? plan.outputs : static_cast<std::size_t>(encode.features);
  if (plan.code.values > plan.outputs) {
    return wrong("encode.features = " + std::to_string(encode.features) + ": \"" + encode.network +
                 "\" has " + with_commas(plan.outputs) + " here; valid: 0 (all) to that");
  }
  if (plan.code.bits() > std::numeric_limits<std::uint32_t>::max()) {
    return wrong("encode: a record would have " + with_commas(plan.code.bits()) + " bits");
  }
  auto bits = bit_mechanism(encode, plan.code);
  if (!bits) return at(recipe.file + ": encode.mechanism", bits.error());
  plan.privacy.bits = std::move(*bits);
  if (encode.label_epsilon) {
    // Of one value, the label, alone: all of epsilon is its.
    auto label =
        make("ldpfl-exact", flat_layout("label", 1),
             {{"epsilon", *encode.label_epsilon}, {"classes", static_cast<double>(classes)}});
    if (!label) return at(recipe.file + ": encode.label_epsilon", label.error());
    plan.privacy.label = std::move(*label);
  }
  plan.privacy.own_encoder = encode.trains_on_records();
  return plan;
}

std::uint64_t most_records(const std::string& partition, std::size_t records, std::size_t clients) {
  if (const auto each = repeated_samples(partition)) return *each;
  if (partition == "iid" || partition == "stratified") return (records + clients - 1) / clients;
  return records - (clients - 1);  // every client has one at least
}

}  // namespace sotto
