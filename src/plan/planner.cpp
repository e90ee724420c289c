#include "plan/planner.h"

#include <algorithm>

#include "plan/feature_statistics.h"
#include "plan/ranges.h"
#include "recipe/recipe_check.h"
#include "recipe/tensor_rules.h"

namespace sotto {
namespace {

/// What a contract has room for.
constexpr std::size_t kMostParts = 4096;

std::string message_name(const std::string& tensor, std::int64_t message) {
  return tensor + ", message " + std::to_string(message + 1);
}

}  // namespace

std::vector<std::size_t> sent_tensors(const Recipe& recipe, const Layout& layout) {
  const bool buffers =
      recipe.bound.buffers == BufferRule::kPerturb && recipe.bound.payload != Payload::kGradient;
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    if (buffers || layout.tensors()[i].role == TensorRole::kParameter) sent.push_back(i);
  }
  return sent;
}

Result<Planner> Planner::make(const Recipe& recipe, const Layout& layout,
                              std::span<const float> initial, double sampling,
                              std::optional<std::uint32_t> client) {
  SOTTO_CHECK(check_tensor_rules(recipe, layout));
  Planner planner(recipe, layout);
  planner.layers_ = layers_of(layout, sent_tensors(recipe, layout));
  std::vector<std::size_t> sizes;
  for (const LayerTensors& layer : planner.layers_) sizes.push_back(layer.weights);
  const std::uint64_t before = statistics_rounds(recipe);
  auto schedule = Schedule::make(recipe.schedule.mode, sizes,
                                 static_cast<std::uint64_t>(recipe.federation.rounds) - before,
                                 static_cast<std::uint64_t>(recipe.schedule.cycles));
  if (!schedule) return at(recipe.file, schedule.error());
  schedule->begin_with(Reported::kFeatureMean, before);
  planner.schedule_ = std::move(*schedule);
  std::vector<std::optional<double>> turns(recipe.privacy.client_budgets.begin(),
                                           recipe.privacy.client_budgets.end());
  if (turns.empty()) turns.emplace_back();
  // A stranger's recipe may have a hundred thousand of them.
  std::map<std::optional<double>, std::size_t> groups;
  for (const std::optional<double>& budget : turns) {
    const auto [group, fresh] = groups.try_emplace(budget, groups.size());
    planner.turns_.push_back(group->second);
    if (fresh) planner.budgets_.push_back(budget);
  }
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(recipe.privacy.mechanism));
  planner.budget_parameter_ = budget_parameter(*info).value_or("");
  if (recipe.schedule.sampling_credit) planner.credit_ = 1.0 / sampling;
  planner.ranges_ = start_ranges(recipe, layout, initial);
  // Whatever is wrong with the mechanism shows now, not in the middle of a run.
  for (std::size_t slot = 0; slot < planner.schedule_.slots().size(); ++slot) {
    for (std::size_t group = 0; group < planner.groups(); ++group) {
      if (client && group != planner.group_of(*client)) continue;
      const RoundId round = planner.schedule_.first_round_of(slot);
      SOTTO_TRY([[maybe_unused]] const std::vector<Part> parts, planner.parts(round, group));
    }
  }
  return planner;
}

Parameters Planner::parameters_of(std::size_t tensor, const Slot& slot, std::size_t weights,
                                  std::size_t group) const {
  Parameters parameters = recipe_.privacy.parameters;
  if (const std::optional<double> own = budgets_[group]) parameters[budget_parameter_] = *own;
  if (recipe_.schedule.total) {
    const double total = budgets_[group].value_or(*recipe_.schedule.total);
    parameters[budget_parameter_] = total * credit_ * slot.share / static_cast<double>(weights);
  } else if (parameters.contains(budget_parameter_)) {
    parameters[budget_parameter_] *= credit_;
  }
  for (const auto& [name, value] : rule_of(recipe_, layout_->tensors()[tensor].name).parameters) {
    parameters[name] = value;
  }
  return parameters;
}

Result<Part> Planner::make_part(std::vector<std::size_t> tensors, const Parameters& parameters,
                                std::int64_t message) const {
  Domain domain;
  if (tensors.size() == layout_->tensors().size() && message == 0) {
    domain.layout = layout_;
  } else {
    auto layout = std::make_shared<Layout>();
    for (const std::size_t i : tensors) {
      const TensorSpec& tensor = layout_->tensors()[i];
      layout->add(message == 0 ? tensor.name : message_name(tensor.name, message), tensor.shape,
                  tensor.role);
    }
    domain.layout = std::move(layout);
  }
  for (const std::size_t i : tensors) domain.ranges.push_back(ranges_[i]);
  auto mechanism = make_mechanism(recipe_.privacy.mechanism, domain, parameters);
  if (!mechanism) return at(recipe_.file, mechanism.error());
  if (recipe_.bound.normalize && (*mechanism)->domain().shape != Shape::kBall) {
    return fail(ErrorKind::kUsage, recipe_.file +
                                       ": bound.normalize = true: " + recipe_.privacy.mechanism +
                                       " has no ball that a payload could be made to fill; valid "
                                       "with vector mechanisms (privunit, ldp-sgd, gaussian)");
  }
  return Part{std::shared_ptr<const Mechanism>(std::move(*mechanism)),
              std::move(tensors),
              {recipe_.privacy.mechanism, parameters, std::move(domain)}};
}

Result<std::vector<Part>> Planner::parts(RoundId round, std::size_t group) const {
  // Both may be another process's word.
  if (!schedule_.has(round)) {
    return fail(ErrorKind::kRefused, "round " + std::to_string(round) + ": the recipe has " +
                                         std::to_string(recipe_.federation.rounds) + " rounds");
  }
  if (group >= groups()) {
    return fail(ErrorKind::kRefused, "group " + std::to_string(group) + ": the recipe has " +
                                         std::to_string(groups()) + " groups of clients");
  }
  const std::size_t index = schedule_.slot_of(round);
  if (const auto known = made_.find({index, group}); known != made_.end()) return known->second;
  const Slot& slot = schedule_.slots()[index];
  if (slot.reported == Reported::kFeatureMean) {
    SOTTO_TRY(Part part, statistics_part(recipe_, *layout_));
    return made_[{index, group}] = {std::move(part)};
  }
  std::vector<std::size_t> tensors;
  std::size_t weights = 0;
  for (const std::size_t layer : slot.layers) {
    tensors.insert(tensors.end(), layers_[layer].tensors.begin(), layers_[layer].tensors.end());
    weights += layers_[layer].weights;
  }
  // What is sent several times is paid for as often.
  const std::int64_t messages = recipe_.privacy.messages;
  weights *= static_cast<std::size_t>(messages);
  // Tensors with equal parameters share a mechanism, in the order of the first of them.
  std::vector<std::pair<Parameters, std::vector<std::size_t>>> sets;
  for (const std::size_t tensor : tensors) {
    Parameters parameters = parameters_of(tensor, slot, weights, group);
    const auto same =
        std::ranges::find_if(sets, [&](const auto& set) { return set.first == parameters; });
    if (same == sets.end()) {
      sets.emplace_back(std::move(parameters), std::vector<std::size_t>{tensor});
    } else {
      same->second.push_back(tensor);
    }
  }
  if (sets.size() * static_cast<std::size_t>(messages) > kMostParts) {
    return fail(ErrorKind::kUsage,
                recipe_.file + ": privacy.messages = " + std::to_string(messages) + ": with " +
                    std::to_string(sets.size()) + " mechanisms each; valid: at most " +
                    std::to_string(kMostParts) + " reports of a client in a round");
  }
  std::vector<Part> parts;
  for (const auto& [parameters, members] : sets) {
    for (std::int64_t message = 0; message < messages; ++message) {
      SOTTO_TRY(Part part, make_part(members, parameters, message));
      parts.push_back(std::move(part));
    }
  }
  made_[{index, group}] = parts;
  return parts;
}

std::size_t Planner::set_ranges(const std::vector<Range>& ranges) {
  made_.clear();
  std::size_t kept = 0;
  for (std::size_t tensor = 0; tensor < ranges_.size(); ++tensor) {
    const Range before = ranges_[tensor];
    ranges_[tensor] = ranges[tensor];
    // Groups and slots differ in budgets alone, which decide nothing about what a grid can hold.
    const Slot& slot = schedule_.slots().front();
    if (make_part({tensor}, parameters_of(tensor, slot, 1, 0))) continue;
    ranges_[tensor] = before;
    ++kept;
  }
  return kept;
}

Result<void> Planner::restore_ranges(std::vector<Range> ranges) {
  if (ranges.size() != ranges_.size()) {
    return fail(ErrorKind::kCorrupt, "the checkpoint has ranges of another network");
  }
  ranges_ = std::move(ranges);
  made_.clear();
  return {};
}

}  // namespace sotto
