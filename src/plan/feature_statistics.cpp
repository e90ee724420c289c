#include "plan/feature_statistics.h"

#include <algorithm>
#include <cmath>

#include "sotto/features.h"

namespace sotto {
namespace {

constexpr const char* kMean = "features.mean";
constexpr const char* kScale = "features.scale";
/// Features are not stretched further than that: what is left of them is mostly noise then.
constexpr double kMostScale = 4.0;

}  // namespace

RoundId statistics_rounds(const Recipe& recipe) {
  return recipe.statistics.reported() ? static_cast<RoundId>(recipe.statistics.rounds) : 0;
}

Reported reported_in(const Recipe& recipe, RoundId round) {
  return round <= statistics_rounds(recipe) ? Reported::kFeatureMean : Reported::kPayload;
}

StatisticsMechanism statistics_mechanism(const Recipe& recipe) {
  const Recipe::Statistics& keys = recipe.statistics;
  const auto& own = recipe.privacy.parameters;
  StatisticsMechanism made;
  made.name = keys.mechanism.empty() ? recipe.privacy.mechanism : keys.mechanism;
  const auto info = find_mechanism(made.name);
  if (!info) return made;
  const bool same = made.name == recipe.privacy.mechanism;
  const auto epsilon = own.find("epsilon");
  for (const ParameterInfo& parameter : (*info)->parameters) {
    const std::string name(parameter.name);
    if (name == "norm") {
      made.parameters[name] = kFeatureNorm;
    } else if (name == "epsilon") {
      if (keys.epsilon || epsilon != own.end()) {
        made.parameters[name] = keys.epsilon ? *keys.epsilon : epsilon->second;
      }
    } else if (name != "cap" && same && own.contains(name)) {
      made.parameters[name] = own.find(name)->second;  // a cap is chosen for one epsilon
    }
  }
  return made;
}

Layout add_feature_tensors(const Recipe& recipe, const Layout& network, std::size_t features) {
  Layout layout = network;
  if (!recipe.statistics.on()) return layout;
  const auto size = static_cast<std::int64_t>(features);
  layout.add(kMean, {size}, TensorRole::kBuffer);
  layout.add(kScale, {size}, TensorRole::kBuffer);
  return layout;
}

FeatureTensors feature_tensors(const Layout& layout) {
  const auto mean = std::ranges::find(layout.tensors(), kMean, &TensorSpec::name);
  const auto place = static_cast<std::size_t>(mean - layout.tensors().begin());
  return {place, place + 1};
}

Result<Part> statistics_part(const Recipe& recipe, const Layout& layout) {
  const std::size_t mean = feature_tensors(layout).mean;
  const TensorSpec& tensor = layout.tensors()[mean];
  auto own = std::make_shared<Layout>();
  own->add(tensor.name, tensor.shape, tensor.role);
  StatisticsMechanism of = statistics_mechanism(recipe);
  MechanismSpec spec{
      std::move(of.name), std::move(of.parameters), {std::move(own), {{0.0, kFeatureNorm}}}};
  auto mechanism = make_mechanism(spec.name, spec.domain, spec.parameters);
  if (!mechanism) return at(recipe.file, mechanism.error());
  return Part{std::shared_ptr<const Mechanism>(std::move(*mechanism)), {mean}, std::move(spec)};
}

bool holds_statistics(const Domain& domain) {
  return domain.layout && !domain.layout->tensors().empty() &&
         domain.layout->tensors().front().name == kMean;
}

void set_feature_mean(const Layout& layout, std::span<const double> mean, double noise,
                      std::span<float> model) {
  constexpr double kSquare = kFeatureNorm * kFeatureNorm;
  const FeatureTensors places = feature_tensors(layout);
  const TensorSpec& centre = layout.tensors()[places.mean];
  const TensorSpec& scale = layout.tensors()[places.scale];
  double square = 0.0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double bounded = std::clamp(mean[i], -kFeatureNorm, kFeatureNorm);
    model[centre.offset + i] = static_cast<float>(bounded);
    square += bounded * bounded;
  }
  const double left = std::max(kSquare - square + 2.0 * noise, kSquare / (kMostScale * kMostScale));
  std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(scale.offset), scale.size,
              static_cast<float>(std::sqrt(kSquare / left)));
}

}  // namespace sotto
