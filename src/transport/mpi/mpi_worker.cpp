// What the ranks above 0 do: the work that rank 0 hands them, until it says that the run is over.
#include <algorithm>

#include "base/parallel.h"
#include "client/recipe_training.h"
#include "plan/round_plan.h"
#include "server/intake.h"
#include "transport/mpi/mpi_protocol.h"

namespace sotto {
namespace {

using mpi::Order;

class Worker {
 public:
  Worker(Recipe recipe, const RunOptions& options)
      : recipe_(std::move(recipe)), ranks_(*options.ranks) {}

  Result<void> prepare(const RunOptions& options, const MakeFactory& make_factory);
  void say_ready(const Result<void>& prepared);
  /// Works until rank 0 says that the run is over.
  void serve();

 private:
  Result<RoundPlan> plan_of(mpi::Task& task);
  Result<mpi::Done> collect(mpi::Task task, std::span<const float> model);
  void add(MessageReader& in);
  void evaluate();

  Recipe recipe_;
  Ranks& ranks_;
  Setup setup_;
  std::optional<Planner> planner_;
  RoundPlan plan_;                // of the round that was collected last
  std::optional<Intake> intake_;  // and its sums
};

Result<void> Worker::prepare(const RunOptions& options, const MakeFactory& make_factory) {
  SOTTO_CHECK(check_mpi(recipe_));
  SOTTO_TRY(setup_, make_setup(recipe_, options, make_factory));
  SOTTO_TRY(const std::vector<float> initial, starting_weights(recipe_, options, *setup_.factory));
  SOTTO_TRY(planner_, Planner::make(recipe_, setup_.factory->layout(), initial,
                                    share_of_clients(setup_.clients, setup_.clients_per_round)));
  return {};
}

void Worker::say_ready(const Result<void>& prepared) {
  MessageWriter out;
  out.put_text(prepared ? "" : prepared.error().message);
  out.put<unsigned>(prepared ? setup_.trainers->size() : 1);
  out.put_text(prepared ? mpi::common_digest(recipe_, setup_) : "");
  ranks_.send(0, out.bytes());
}

Result<RoundPlan> Worker::plan_of(mpi::Task& task) {
  if (planner_->adapts()) {
    SOTTO_CHECK(planner_->restore_ranges(std::move(task.ranges)));
  }
  RoundPlan plan = recipe_plan(recipe_, task.round);
  plan.groups.resize(planner_->groups());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    plan.groups[group].clients = std::move(task.clients.at(group));
    SOTTO_TRY(plan.groups[group].parts, planner_->parts(task.round, group));
  }
  return plan;
}

Result<mpi::Done> Worker::collect(mpi::Task task, std::span<const float> model) {
  ClientPool& transport = *setup_.simulated->pool;
  SOTTO_TRY(plan_, plan_of(task));
  SOTTO_CHECK(transport.restore(std::move(task.states)));
  transport.hashes_reports = task.hashes;
  SOTTO_TRY(const Intake empty, Intake::make(plan_));
  std::vector<Intake> intakes(transport.lanes(), empty);
  SOTTO_TRY(const Delivery delivery, transport.collect(plan_, model, sinks_of(intakes)));
  SOTTO_TRY(intake_, join_lanes(std::move(intakes)));
  mpi::Done done;
  done.bytes = intake_->bytes + delivery.bytes_up;
  done.times = transport.take_times();
  done.hashes = transport.take_hashes();
  done.states = transport.states();
  return done;
}

void Worker::add(MessageReader& in) {
  for (const std::uint64_t group : in.get_list<std::uint64_t>()) {
    for (const Part& part : plan_.groups.at(group).parts) {
      // Nobody of this rank may be in a group that others have clients of.
      std::vector<std::int64_t> sums(part.mechanism->outputs(), 0);
      if (!plan_.groups[group].clients.empty()) {
        const auto own = intake_->sums.find(part.mechanism->id())->second.summed();
        if (!own) throw std::runtime_error(own.error().message);
        std::ranges::copy(own->sums(), sums.begin());
      }
      ranks_.add_up(sums);
    }
  }
}

void Worker::evaluate() {
  std::vector<float> model(setup_.factory->layout().size());
  ranks_.broadcast(model);
  const Result<std::vector<EvaluationSums>> sums =
      setup_.evaluator->evaluate_share(model, {ranks_.rank(), ranks_.size()});
  MessageWriter out;
  out.put_text(sums ? "" : sums.error().message);
  out.put_list(sums ? std::span(*sums) : std::span<const EvaluationSums>());
  ranks_.send(0, out.bytes());
}

void Worker::serve() {
  for (;;) {
    std::vector<std::byte> message = ranks_.receive(0);
    if (message.empty()) return;
    MessageReader in(std::move(message));
    switch (in.get<Order>()) {
      case Order::kCollect: {
        mpi::Task task = mpi::get_task(in);
        std::vector<float> model(setup_.factory->layout().size());
        ranks_.broadcast(model);
        Result<mpi::Done> done = collect(std::move(task), model);
        if (!done) {
          mpi::Done failed;
          failed.error = done.error().message;
          done = failed;
        }
        MessageWriter out;
        mpi::put(out, *done);
        ranks_.send(0, out.bytes());
        break;
      }
      case Order::kAdd:
        add(in);
        break;
      case Order::kEvaluate:
        evaluate();
        break;
    }
  }
}

}  // namespace

Result<void> run_mpi_worker(const Result<Recipe>& recipe, const RunOptions& options,
                            const MakeFactory& make_factory) {
  Worker worker(recipe ? *recipe : Recipe{}, options);
  Result<void> prepared = recipe ? worker.prepare(options, make_factory)
                                 : Result<void>(tl::unexpected<Error>(recipe.error()));
  worker.say_ready(prepared);
  worker.serve();
  return prepared;
}

}  // namespace sotto
