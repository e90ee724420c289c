// Centred features: what a recipe's [statistics] comes to, for clients and server alike.
//
// Features x of a sample become (x - mean) * scale, where mean and scale are public numbers: two
// tensors at the end of the model, which checkpoints, tasks of a network and ranks carry like
// weights and a contract's digest covers, but which no gradient moves. In the first rounds of a
// training clients report their own features through a mechanism in place of a gradient; what is
// released becomes the mean. Or it is that of a public set, and costs nothing.
//
// What a client is promised rests on none of these numbers: its report is bounded and randomized
// whatever mean it was given, as it is for any weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sotto/federation.h"
#include "sotto/recipe.h"

namespace sotto {

/// How many of the first rounds report statistics: 0 where none does.
RoundId statistics_rounds(const Recipe& recipe);
/// What clients report in this round.
Reported reported_in(const Recipe& recipe, RoundId round);

/// The mechanism of these rounds. Its ball has the norm that features have, so that nothing is cut.
struct StatisticsMechanism {
  std::string name;
  Parameters parameters;
};
StatisticsMechanism statistics_mechanism(const Recipe& recipe);

/// The tensors of a model that change features.
struct FeatureTensors {
  std::size_t mean = 0;   // of the layout's tensors, as are both
  std::size_t scale = 0;  // the next one
};

/// The layout of a network on so many features, with the tensors behind its own where the recipe
/// asks for them.
Layout add_feature_tensors(const Recipe& recipe, const Layout& network, std::size_t features);
/// Of a layout that has them.
FeatureTensors feature_tensors(const Layout& layout);

/// What clients send in a round of statistics, of a layout that has the tensors.
Result<Part> statistics_part(const Recipe& recipe, const Layout& layout);

/// Whether this is the domain of such a part.
bool holds_statistics(const Domain& domain);

/// Writes mean and scale into the model's last places. `noise` is the mean square of |mean - true
/// mean|. Of features of norm 8, E|x - mean|^2 = 64 - |mean|^2 + 2 noise, so the scale follows from
/// the mean alone: it makes the mean square of the changed features' norm 64 again.
void set_feature_mean(const Layout& layout, std::span<const double> mean, double noise,
                      std::span<float> model);

}  // namespace sotto
