#include "attack/report_model.h"

#include <algorithm>

#include "server/server_step.h"

namespace sotto {

void ReportModels::on_plan(const RoundPlan& plan, std::span<const float> model) {
  // A round starts from what the one before it released.
  if (std::find(kept_.begin(), kept_.end(), plan.round - 1) != kept_.end()) {
    released_.emplace_back(model.begin(), model.end());
  }
  if (plan.round != round_) return;
  for (const ClientGroup& group : plan.groups) {
    for (const std::uint32_t client : group.clients) {
      if (models_.size() == reports_) return;
      models_[client].assign(model.begin(), model.end());
    }
  }
}

void ReportModels::on_report(const RoundPlan& plan, std::uint32_t client, const Part& part,
                             std::span<const float> /*bounded*/, const Report& report) {
  if (plan.round != round_) return;
  const auto it = models_.find(client);
  if (it == models_.end()) return;
  const std::vector<Symbol> symbols = report.symbols().unpacked();
  std::vector<double> values(symbols.size());
  part.mechanism->decode(symbols, 1, 0, values);
  // A step of its own for each report: no momentum goes from one client's to another's.
  ServerStep step(recipe_);
  const auto& own = part.mechanism->domain().layout->tensors();
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < part.tensors.size(); ++i) {
    step.apply(plan.round, layout_.tensors()[part.tensors[i]].offset,
               std::span<const double>(values).subspan(own[i].offset, own[i].size), it->second);
  }
}

}  // namespace sotto
