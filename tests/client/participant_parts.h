// A participant on four numbers a sample, with its ledger in a folder of the test's.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/participant.h"
#include "sotto/native.h"
#include "temporary_folder.h"

namespace sotto::rpc {

/// Four numbers and one of three classes.
inline Recipe csv_recipe(const std::vector<std::string>& settings = {}) {
  constexpr const char* kText =
      "[data]\nname = \"public.csv\"\nshape = [1, 1, 4]\nclasses = 3\n[model]\nname = \"linear\"\n"
      "[train]\nlr = 0.1\nbatch_size = 4\n[federation]\nclients = 3\nrounds = 5\n"
      "[privacy]\nmechanism = \"two-point\"\nepsilon = 2.0\nradius = 0.5\n";
  auto recipe = parse_recipe(kText, "test.toml", settings);
  EXPECT_TRUE(recipe) << recipe.error().message;
  return *recipe;
}

inline Result<std::shared_ptr<const TrainerFactory>> native(const TrainerRequest& request) {
  return make_native_factory(request, {});
}

class ParticipantTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Participant>> make(const Recipe& recipe, const std::string& data,
                                            const MakeFactory& factory = native,
                                            const std::string& name = "ada") {
    ParticipantOptions options;
    options.name = name;
    options.clients = static_cast<std::uint32_t>(recipe.federation.clients);
    options.task = "task";
    options.data = data;
    options.limits = limits;
    options.policy = policy;
    options.on_note = [this](const std::string& text) { notes.push_back(text); };
    auto ledger = open_ledger(folder / (name + ".sqlite"));
    EXPECT_TRUE(ledger) << ledger.error().message;
    return Participant::make(recipe, std::move(options), std::move(*ledger), factory);
  }
  static TaskHeader task_of(const Recipe& recipe, RoundId round) {
    const Network network = find_network(recipe.model.name, {1, 1, 4}, 3).value();
    const Planner planner = Planner::make(recipe, network.layout(), {}, 1.0).value();
    TaskHeader task;
    task.round = round;
    task.weights = network.layout().size();
    const std::vector<Part> parts = planner.parts(round, 0).value();
    for (const Part& part : parts) {
      task.parts.push_back(
          {std::string(part.mechanism->id()), part.tensors, part.spec.domain.ranges});
    }
    return task;
  }
  /// Sizes of the envelopes of a report on this data.
  std::vector<std::size_t> sizes(const Recipe& recipe, const std::string& data,
                                 const MakeFactory& factory = native) {
    const auto participant = make(recipe, data, factory, "c" + std::to_string(++made_));
    EXPECT_TRUE(participant) << data << ": " << participant.error().message;
    if (!participant) return {};
    const std::vector<float> model((*participant)->weights(), 0.01F);
    const auto report = (*participant)->report(task_of(recipe, 1), model);
    EXPECT_TRUE(report) << data << ": " << report.error().message;
    std::vector<std::size_t> sizes;
    if (report) {
      for (const Envelope& envelope : *report) sizes.push_back(envelope.serialize().size());
    }
    return sizes;
  }

  TemporaryFolder folder;
  Limits limits = Limits::unlimited();
  std::vector<std::string> notes;
  std::optional<identity::Policy> policy;

 private:
  int made_ = 0;
};

inline constexpr const char* kComplete =
    "a,b,c,d,label\n1,2,3,4,0\n2,3,4,5,1\n3,4,5,6,2\n4,5,6,7,0\n5,6,7,8,1\n6,7,8,9,2\n";

}  // namespace sotto::rpc
