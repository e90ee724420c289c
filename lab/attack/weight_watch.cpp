#include "attack/weight_watch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/nearest.h"
#include "plan/round_plan.h"
#include "server/setup.h"

namespace sotto {
namespace {

constexpr double kUnits = 0x1.0p40;

/// Where the tensor lies in a part's own vector; nothing where the part does not hold it.
const TensorSpec* place_in(const Part& part, std::size_t tensor) {
  const auto it = std::find(part.tensors.begin(), part.tensors.end(), tensor);
  if (it == part.tensors.end()) return nullptr;
  const auto index = static_cast<std::size_t>(it - part.tensors.begin());
  return &part.mechanism->domain().layout->tensors()[index];
}

Range range_in(const Part& part, std::size_t tensor) {
  const auto it = std::find(part.tensors.begin(), part.tensors.end(), tensor);
  return part.mechanism->domain().ranges[static_cast<std::size_t>(it - part.tensors.begin())];
}

Result<std::size_t> find_tensor(const Layout& layout, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    if (name.empty() || layout.tensors()[i].name == name) return i;
    names.push_back(layout.tensors()[i].name);
  }
  return fail(ErrorKind::kUsage, "no tensor is called '" + name + "'" + did_you_mean(name, names) +
                                     "; valid: " + join(names));
}

}  // namespace

void WeightWatch::on_plan(const RoundPlan& plan, std::span<const float> /*model*/) {
  for (const ClientGroup& group : plan.groups) {
    for (const Part& part : group.parts) {
      if (place_in(part, tensor_) == nullptr) continue;
      Seen seen;
      seen.round = plan.round;
      seen.range = range_in(part, tensor_);
      seen.released.assign(places_.size(), 0.0);
      seen.held.assign(places_.size(), 0);
      seen.variance.assign(places_.size(), 0.0);
      seen_.push_back(std::move(seen));
      return;
    }
  }
}

void WeightWatch::on_report(const RoundPlan& plan, std::uint32_t /*client*/, const Part& part,
                            std::span<const float> bounded, const Report& /*report*/) {
  const TensorSpec* const own = place_in(part, tensor_);
  if (own == nullptr || seen_.empty() || seen_.back().round != plan.round) return;
  const std::scoped_lock lock(mutex_);
  Seen& seen = seen_.back();
  ++seen.held_count;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const double value = bounded[own->offset + places_[i]];
    seen.held[i] += std::llround((value - seen.range.centre) / seen.range.radius * kUnits);
  }
}

void WeightWatch::on_release(const RoundPlan& plan, std::size_t group,
                             std::span<const Released> released) {
  if (released.empty() || seen_.empty() || seen_.back().round != plan.round) return;
  Seen& seen = seen_.back();
  for (std::size_t k = 0; k < released.size(); ++k) {
    const Part& part = plan.groups[group].parts[k];
    const TensorSpec* const own = place_in(part, tensor_);
    if (own == nullptr) continue;
    const std::uint64_t reports = released[k].reports();
    const auto weight = static_cast<double>(reports);
    const auto before = static_cast<double>(seen.reports);
    std::vector<float> held(part.mechanism->domain().layout->size(),
                            static_cast<float>(seen.range.centre));
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const double mean = released[k].values()[own->offset + places_[i]];
      seen.released[i] = (seen.released[i] * before + mean * weight) / (before + weight);
      // The variance at the clients' mean stands for the mean of their variances.
      held[own->offset + places_[i]] = static_cast<float>(held_mean(seen, i));
      seen.variance[i] += weight * part.mechanism->moments(held, own->offset + places_[i]).variance;
    }
    seen.reports += reports;
  }
}

double WeightWatch::held_mean(const Seen& seen, std::size_t weight) const {
  const double mean =
      static_cast<double>(seen.held[weight]) / kUnits / static_cast<double>(seen.held_count);
  return seen.range.centre + seen.range.radius * mean;
}

std::vector<WatchedRound> WeightWatch::rounds() const {
  std::vector<WatchedRound> result;
  const std::size_t count = places_.size();
  std::vector<std::vector<double>> history(count);
  std::vector<double> predicted(count, 0.0);  // sums over rounds
  std::vector<double> held(count, 0.0);
  std::vector<double> noise(count, 0.0);
  BitSource splits = BitSource::from_seed(seed_, "attack.split");
  for (const Seen& seen : seen_) {
    if (seen.reports == 0) continue;
    WatchedRound round;
    round.round = seen.round;
    round.reports = seen.reports;
    const double domain = 2.0 * seen.range.radius;
    const auto rounds = static_cast<double>(result.size() + 1);
    const auto reports = static_cast<double>(seen.reports);
    double score = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double truth = held_mean(seen, i);
      history[i].push_back(seen.released[i]);
      predicted[i] += seen.released[i];
      held[i] += truth;
      noise[i] += seen.variance[i] / (reports * reports);
      const double average = predicted[i] / rounds;
      round.error_now += std::abs(seen.released[i] - truth) / domain;
      round.error += std::abs(average - held[i] / rounds) / domain;
      round.error_latest += std::abs(average - truth) / domain;
      round.drift += std::abs(truth - held[i] / rounds) / domain;
      round.error_theory += std::sqrt(2.0 / std::numbers::pi * noise[i]) / rounds / domain;
      score += history_confidence(history[i], seen.range.radius, splits).value_or(0.0);
    }
    const auto all = static_cast<double>(count);
    for (double* value :
         {&round.error_now, &round.error, &round.error_latest, &round.drift, &round.error_theory}) {
      *value /= all;
    }
    if (!result.empty()) round.confidence = score / all;
    result.push_back(round);
  }
  return result;
}

Result<WatchedWeights> infer_weights_of_run(const WeightRun& run, const MakeFactory& make_factory) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(run.recipe.privacy.mechanism));
  if (info->kind != MechanismKind::kValue) {
    return fail(ErrorKind::kUsage, run.recipe.file + ": privacy.mechanism = \"" +
                                       std::string(info->name) +
                                       "\" does not treat every weight alone; weight inference is "
                                       "for value mechanisms");
  }
  if (info->name == "none") {
    return fail(ErrorKind::kUsage,
                run.recipe.file +
                    ": privacy.mechanism = \"none\" sends every weight as it is: there is nothing "
                    "to infer, and no domain to measure an error by");
  }
  RunOptions options = run.options;
  SOTTO_TRY(DataSplit data, load_data(data_request(run.recipe, options.data_folder)));
  options.data = std::make_shared<const DataSplit>(std::move(data));
  WatchedWeights watched;
  std::size_t tensor = 0;
  std::vector<std::size_t> places;
  {
    // What the network consists of is known before anything is trained: a wrong name costs nothing.
    SOTTO_TRY(const Setup setup, make_setup(run.recipe, options, make_factory));
    SOTTO_TRY(tensor, find_tensor(setup.factory->layout(), run.tensor));
    const TensorSpec& found = setup.factory->layout().tensors()[tensor];
    watched.tensor = found.name;
    watched.weights = std::min(run.weights, found.size);
    for (std::size_t k = 0; k < watched.weights; ++k) {
      places.push_back(k * found.size / watched.weights);
    }
  }
  const auto watch = std::make_shared<WeightWatch>(tensor, std::move(places), run.seed);
  options.observer = watch;
  SOTTO_TRY(const RunResult result, run_recipe(run.recipe, options, make_factory));
  const RoundMetrics* const last = result.last_evaluated();
  if (last != nullptr) watched.accuracy = last->accuracy;
  watched.rounds = watch->rounds();
  if (watched.rounds.empty()) {
    return fail(ErrorKind::kRefused,
                "no round released '" + watched.tensor + "': there is nothing to infer it from");
  }
  return watched;
}

}  // namespace sotto
