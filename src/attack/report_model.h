// The reports of some clients of one round, each decoded to a model: what the server would have if
// this report were all that it got.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "sotto/federation.h"

namespace sotto {

class ReportModels final : public RunObserver {
 public:
  ReportModels(const Recipe& recipe, const Layout& layout, RoundId round, std::size_t reports)
      : recipe_(recipe), layout_(layout), round_(round), reports_(reports) {}

  void on_plan(const RoundPlan& plan, std::span<const float> model) override;
  void on_report(const RoundPlan& plan, std::uint32_t client, const Part& part,
                 std::span<const float> bounded, const Report& report) override;

  /// By client: the first ones of the round.
  const std::map<std::uint32_t, std::vector<float>>& models() const { return models_; }

 private:
  const Recipe& recipe_;
  const Layout& layout_;
  RoundId round_;
  std::size_t reports_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<float>> models_;
};

}  // namespace sotto
