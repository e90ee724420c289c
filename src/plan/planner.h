// What clients send in a round: which tensors, in which ranges, through which mechanisms.
//
// A recipe names one mechanism; a round may need several instances of it. Tensors with the same
// parameters share one (each tensor with a range of its own), others get theirs; a schedule leaves
// layers out; clients with different budgets form groups, whose reports are never added to one
// another's. All of it is decided by the recipe and by what earlier rounds released.
//
// A client that sends K messages of one result has K parts for the same tensors. Their mechanisms
// differ in nothing but the names of their tensors, and so in their ids: everything that keeps
// reports of different mechanisms apart (batches, sums, contracts, charges, claims, certificates)
// keeps messages apart, and counts each of them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plan/layers.h"
#include "plan/schedule.h"
#include "sotto/federation.h"

namespace sotto {

class Planner {
 public:
  /// `initial` may be empty where the weights are not known yet; ranges that depend on them are
  /// then those of start_ranges. `sampling` is the probability of a client to be in a round.
  static Result<Planner> make(const Recipe& recipe, const Layout& layout,
                              std::span<const float> initial, double sampling,
                              std::optional<std::uint32_t> client = {});

  /// Clients with the same budget.
  std::size_t groups() const noexcept { return budgets_.size(); }
  std::size_t group_of(std::uint32_t client) const { return turns_[client % turns_.size()]; }
  /// Clients take turns with the budgets: client i has that of client i + turns().
  std::size_t turns() const noexcept { return turns_.size(); }
  /// The group's own budget, where clients have different ones.
  std::optional<double> budget_of(std::size_t group) const { return budgets_[group]; }

  /// What a group sends in a round, with the ranges that hold now. Mechanisms are made once and
  /// last until the ranges move. kRefused: a round or group that the recipe does not have. Not for
  /// several threads at once.
  Result<std::vector<Part>> parts(RoundId round, std::size_t group) const;

  /// Rounds with the same layers and budget have the same slot.
  std::size_t slot_of(RoundId round) const { return schedule_.slot_of(round); }
  const Schedule& schedule() const noexcept { return schedule_; }

  /// One for each tensor of the layout.
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  /// Ranges of tensors for which the mechanism cannot be made (too narrow for its groups, say) stay
  /// as they are; returns how many.
  std::size_t set_ranges(const std::vector<Range>& ranges);
  /// Exactly these, as a checkpoint has them.
  Result<void> restore_ranges(std::vector<Range> ranges);
  bool adapts() const { return recipe_.bound.range == RangeRule::kAdaptive; }

 private:
  explicit Planner(const Recipe& recipe, const Layout& layout)
      : recipe_(recipe), layout_(std::make_shared<const Layout>(layout)) {}

  /// The parameters of one tensor in a slot.
  Parameters parameters_of(std::size_t tensor, const Slot& slot, std::size_t weights,
                           std::size_t group) const;
  /// `message` counts from 0.
  Result<Part> make_part(std::vector<std::size_t> tensors, const Parameters& parameters,
                         std::int64_t message = 0) const;

  Recipe recipe_;
  std::shared_ptr<const Layout> layout_;
  std::vector<LayerTensors> layers_;
  Schedule schedule_;
  std::vector<std::optional<double>> budgets_;  // of the groups, all different
  std::vector<std::size_t> turns_;              // groups, as clients take turns with them
  std::vector<Range> ranges_;
  std::string budget_parameter_;
  double credit_ = 1.0;  // what budgets are multiplied by
  mutable std::map<std::pair<std::size_t, std::size_t>, std::vector<Part>> made_;  // slot, group
};

/// The tensors that leave a client at all: parameters, and buffers where they are perturbed.
std::vector<std::size_t> sent_tensors(const Recipe& recipe, const Layout& layout);

}  // namespace sotto
