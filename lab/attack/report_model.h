// What the server has of a run besides its last model: the models that earlier rounds released, and
// the reports of some clients of one round, each decoded to the model that the server would have if
// this report were all that it got.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "sotto/federation.h"

namespace sotto {

class ReportModels final : public RunObserver {
 public:
  /// `kept`: the rounds whose models are kept. The last round's is the run's result.
  ReportModels(const Recipe& recipe, const Layout& layout, RoundId round, std::size_t reports,
               std::vector<RoundId> kept = {})
      : recipe_(recipe),
        layout_(layout),
        round_(round),
        reports_(reports),
        kept_(std::move(kept)) {}

  void on_plan(const RoundPlan& plan, std::span<const float> model) override;
  void on_report(const RoundPlan& plan, std::uint32_t client, const Part& part,
                 std::span<const float> bounded, const Report& report) override;

  /// By client: the first ones of the round.
  const std::map<std::uint32_t, std::vector<float>>& models() const { return models_; }
  /// What the rounds of `kept` released.
  const std::vector<std::vector<float>>& released() const { return released_; }

 private:
  const Recipe& recipe_;
  const Layout& layout_;
  RoundId round_;
  std::size_t reports_;
  std::vector<RoundId> kept_;
  std::vector<std::vector<float>> released_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<float>> models_;
};

}  // namespace sotto
