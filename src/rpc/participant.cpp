#include "rpc/participant.h"

#include <algorithm>

#include "account/ledger_spending.h"
#include "federation/attendance.h"
#include "federation/baselines.h"
#include "federation/budget.h"
#include "federation/plan.h"
#include "federation/server_step.h"
#include "rpc/report_form.h"

namespace sotto::rpc {
namespace {

/// What the client's own engine is set up from: the recipe's training on the client's data.
Recipe own_recipe(const Recipe& recipe, const ParticipantOptions& options) {
  Recipe own = recipe;
  own.data.name = options.data;
  own.data.labels = options.labels;
  own.data.test.clear();
  own.data.test_labels.clear();
  own.model.file = options.model_file;
  if (!options.share) {
    own.data.partition = "iid";
    own.federation.clients = 1;
    own.federation.fraction = 1.0;
    own.federation.k = 0;
    own.shuffle.min_batch = 1;
  }
  return own;
}

}  // namespace

Result<std::unique_ptr<Participant>> Participant::make(const Recipe& recipe,
                                                       ParticipantOptions options,
                                                       std::shared_ptr<Ledger> ledger,
                                                       const MakeFactory& make_factory) {
  SOTTO_CHECK(check_remote(recipe));
  if (recipe.model.file.empty() != options.model_file.empty()) {
    return fail(ErrorKind::kUsage,
                recipe.model.file.empty()
                    ? "--model: the recipe has a network of Sotto's, '" + recipe.model.name + "'"
                    : "the recipe trains a network from a file; no code is taken from a server: "
                      "give your own copy with --model FILE.pt");
  }
  RunOptions run;
  run.threads = 1;
  run.data_folder = options.data_folder;
  const Recipe own = own_recipe(recipe, options);
  SOTTO_TRY(Setup setup, make_setup(own, run, make_factory));
  if (options.share && options.index >= setup.partition->clients()) {
    return fail(ErrorKind::kUsage, "--share " + std::to_string(options.index) +
                                       ": the recipe cuts this data into " +
                                       std::to_string(setup.partition->clients()) + " shares");
  }
  setup.transport->system_bits = !options.rehearsal;
  SOTTO_TRY(const std::vector<float> initial, starting_weights(recipe, run, *setup.factory));
  SOTTO_TRY(Planner planner,
            Planner::make(recipe, setup.factory->layout(), initial,
                          share_of_clients(options.clients,
                                           clients_per_round(recipe.federation, options.clients))));
  std::unique_ptr<Participant> participant(
      new Participant(recipe, std::move(options), std::move(setup), std::move(planner)));
  participant->ledger_ = std::move(ledger);
  participant->dataset_ = dataset_name(own);
  SOTTO_TRY(participant->whole_, participant->whole_cost());
  SOTTO_TRY(const std::vector<Part> first,
            participant->planner_.parts(1, participant->own_group()));
  SOTTO_CHECK(participant->check_policy(first));
  SOTTO_CHECK(participant->ledger_->set_limits(participant->options_.name, participant->dataset_,
                                               participant->options_.limits));
  return participant;
}

Result<Spent> Participant::whole_cost() const {
  Spending spending;
  spending.set_limits(options_.limits);
  const Schedule& schedule = planner_.schedule();
  for (std::size_t slot = 0; slot < schedule.slots().size(); ++slot) {
    SOTTO_TRY(const std::vector<Part> parts,
              planner_.parts(schedule.first_round_of(slot), own_group()));
    const Cost cost = cost_of(parts).cost;
    // Who is picked is the server's choice, so the client counts on being in every round.
    const bool once = recipe_.federation.selection == "once";
    for (std::uint64_t i = once ? 1 : schedule.rounds_of(slot); i > 0; --i) spending.add(cost);
  }
  return spending.spent();
}

Result<void> Participant::check_policy(std::span<const Part> parts) const {
  if (!options_.policy) return {};
  identity::PlanFacts facts;
  for (const Part& part : parts) facts.mechanisms.push_back(part.spec.name);
  facts.shuffle = recipe_.shuffle.mode;
  facts.model = recipe_.model.file.empty() ? recipe_.model.name : recipe_.model.file;
  facts.recipe = recipe_.fingerprint();
  const Cost cost = cost_of(parts).cost;
  facts.epsilon_per_round = cost.epsilon;
  facts.unit_epsilon = cost.unit_epsilon;
  facts.epsilon = whole_.epsilon;
  facts.delta = whole_.delta_sum;
  facts.rounds = whole_.rounds;
  facts.min_batch = static_cast<std::uint64_t>(recipe_.shuffle.min_batch);
  facts.server_key = options_.server_key;
  return identity::check(*options_.policy, facts);
}

/// What the recipe asks this client for, with the ranges of the task where ranges adapt.
Result<std::vector<Part>> Participant::parts_of(const TaskHeader& task) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::kRefused,
                "the task of round " + std::to_string(task.round) + " is refused: " + what);
  };
  if (task.group != own_group()) {
    return refuse("the recipe gives this client another budget");
  }
  if (planner_.adapts()) {
    std::vector<Range> ranges = planner_.ranges();
    for (const TaskHeader::Part& part : task.parts) {
      for (std::size_t i = 0; i < part.tensors.size(); ++i) {
        if (part.tensors[i] >= ranges.size()) return refuse("a tensor that the network lacks");
        ranges[part.tensors[i]] = part.ranges[i];
      }
    }
    SOTTO_CHECK(planner_.restore_ranges(std::move(ranges)));
  }
  SOTTO_TRY(std::vector<Part> parts, planner_.parts(task.round, task.group));
  const bool same =
      std::ranges::equal(parts, task.parts, [](const Part& mine, const TaskHeader::Part& asked) {
        return mine.mechanism->id() == asked.mechanism_id && mine.tensors == asked.tensors;
      });
  if (!same) return refuse("its mechanisms are not those of the recipe");
  return parts;
}

Result<std::vector<Envelope>> Participant::report(const TaskHeader& task,
                                                  std::span<const float> model) {
  SOTTO_TRY(std::vector<Part> parts, parts_of(task));
  SOTTO_CHECK(check_policy(parts));
  const RoundCost cost = cost_of(parts);
  SOTTO_TRY(last_, ledger_->charge({options_.name, dataset_, options_.task, task.round,
                                    cost.mechanism_id, cost.cost}));
  if (last_.state != ChargeState::kCharged) {
    SOTTO_TRY(const std::vector<std::byte> bytes, ledger_->report(last_));
    return read_report(bytes);
  }
  RoundPlan plan;
  plan.round = task.round;
  plan.split = static_cast<std::size_t>(recipe_.shuffle.split);
  plan.payload = payload_of(recipe_.bound);
  plan.fills_ball = recipe_.bound.normalize;
  plan.groups.push_back({{options_.share ? options_.index : 0}, std::move(parts)});
  std::vector<Envelope> envelopes;
  const EnvelopeSink keep = [&](const Envelope& envelope) -> Result<void> {
    envelopes.push_back(envelope);
    return {};
  };
  SOTTO_CHECK(setup_.transport->collect(plan, model, std::span(&keep, 1)));
  SOTTO_CHECK(ledger_->bind(last_, write_report(envelopes)));
  return envelopes;
}

Result<void> Participant::delivered() { return ledger_->delivered(last_); }

}  // namespace sotto::rpc
