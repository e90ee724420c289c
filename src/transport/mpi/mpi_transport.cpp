#include "transport/mpi/mpi_transport.h"

#include <algorithm>

#include "plan/baselines.h"
#include "server/intake.h"
#include "transport/mpi/assign_clients.h"
#include "transport/mpi/mpi_protocol.h"

namespace sotto {

using mpi::Order;

Result<void> check_mpi(const Recipe& recipe) {
  const auto refuse = [&](const char* key, const char* why) {
    return fail(ErrorKind::kUsage, recipe.file + ": " + key + " is not spread over ranks: " + why +
                                       "; start it without the launcher");
  };
  if (learns_alone(recipe)) {
    return refuse("federation.mode = \"local\"", "there is no sum to share the work of");
  }
  if (recipe.aggregate.secure) {
    return refuse("aggregate.secure", "a round's parties exchange masks in one process");
  }
  return {};
}

void MpiTransport::send_all(std::span<const std::byte> message) {
  for (unsigned rank = 1; rank < ranks_->size(); ++rank) ranks_->send(rank, message);
}

Result<void> MpiTransport::begin(const Recipe& recipe, const Setup& setup, const Planner& planner) {
  setup_ = &setup;
  planner_ = &planner;
  below_ = setup.simulated->pool.get();
  speeds_ = {below_->lanes()};
  const std::string digest = mpi::common_digest(recipe, setup);
  std::string wrong;
  for (unsigned rank = 1; rank < ranks_->size(); ++rank) {
    MessageReader in(ranks_->receive(rank));
    const std::string error = in.get_text();
    speeds_.push_back(in.get<unsigned>());
    const std::string theirs = in.get_text();
    if (!wrong.empty()) continue;
    if (!error.empty()) {
      wrong = "rank " + std::to_string(rank) + ": " + error;
    } else if (theirs != digest) {
      wrong = "rank " + std::to_string(rank) +
              " has another program, recipe, engine or data than rank 0";
    }
  }
  if (!wrong.empty()) return fail(ErrorKind::kUsage, wrong);
  return {};
}

void MpiTransport::hand_out(const RoundPlan& plan,
                            const std::vector<std::vector<std::vector<std::uint32_t>>>& shares) {
  mpi::Task task;
  task.round = plan.round;
  task.hashes = below_->hashes_reports;
  task.ranges = planner_->ranges();
  for (unsigned rank = 1; rank < ranks_->size(); ++rank) {
    task.clients = shares[rank];
    task.states.clear();
    for (const auto& group : task.clients) {
      for (const std::uint32_t client : group) {
        const auto kept = below_->states().find(client);
        if (kept != below_->states().end()) task.states.insert(*kept);
      }
    }
    MessageWriter message;
    message.put(Order::kCollect);
    mpi::put(message, task);
    ranks_->send(rank, message.bytes());
  }
}

Result<Delivery> MpiTransport::collect(const RoundPlan& plan, std::span<const float> model,
                                       std::span<const EnvelopeSink> sinks) {
  const Partition& partition = below_->partition();
  std::vector<WeightedClient> clients;
  clients.reserve(plan.clients());
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    for (const std::uint32_t client : plan.groups[group].clients) {
      clients.push_back({group, client, partition.client(client).size()});
    }
  }
  const auto shares = assign_clients(std::move(clients), plan.groups.size(), speeds_);
  hand_out(plan, shares);
  std::vector<float> copy(model.begin(), model.end());  // MPI wants a place that it may write to
  ranks_->broadcast(copy);

  RoundPlan own = plan;
  for (std::size_t group = 0; group < own.groups.size(); ++group) {
    own.groups[group].clients = shares[0][group];
  }
  Result<Delivery> delivery = below_->collect(own, model, sinks);
  // Whatever became of this rank's part: the workers' answers are on their way.
  Delivery theirs;
  const Result<void> taken = take_in(theirs);
  if (!delivery) return delivery;
  SOTTO_CHECK(taken);
  delivery->bytes_up += theirs.bytes_up;
  SOTTO_CHECK(add_up(plan, own, *delivery));
  return delivery;
}

Result<void> MpiTransport::take_in(Delivery& delivery) {
  std::string wrong;
  for (unsigned rank = 1; rank < ranks_->size(); ++rank) {
    MessageReader in(ranks_->receive(rank));
    mpi::Done done = mpi::get_done(in);
    if (!done.error.empty() && wrong.empty()) {
      wrong = "rank " + std::to_string(rank) + ": " + done.error;
    }
    delivery.bytes_up += done.bytes;
    below_->absorb(std::move(done.hashes), done.times, std::move(done.states));
  }
  if (!wrong.empty()) return fail(ErrorKind::kInternal, wrong);
  return {};
}

Result<void> MpiTransport::add_up(const RoundPlan& plan, const RoundPlan& own, Delivery& delivery) {
  std::vector<std::uint64_t> theirs;  // groups of which workers have reports
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const std::size_t others = plan.groups[group].clients.size() - own.groups[group].clients.size();
    if (others > 0) theirs.push_back(group);
    delivery.groups[group].reports = plan.groups[group].clients.size();
  }
  send_all(
      MessageWriter().put(Order::kAdd).put_list(std::span<const std::uint64_t>(theirs)).bytes());
  for (const std::uint64_t group : theirs) {
    const std::size_t others = plan.groups[group].clients.size() - own.groups[group].clients.size();
    for (const Part& part : plan.groups[group].parts) {
      std::vector<std::int64_t> sums(part.mechanism->outputs(), 0);
      ranks_->add_up(sums);
      const Aggregator round(part.mechanism, plan.round);
      SOTTO_TRY(SummedEnvelope sum, round.summed(std::move(sums), others));
      delivery.sums.push_back(std::move(sum));
    }
  }
  return {};
}

Result<EvaluationSums> MpiTransport::evaluate(std::span<const float> model) {
  send_all(MessageWriter().put(Order::kEvaluate).bytes());
  std::vector<float> copy(model.begin(), model.end());
  ranks_->broadcast(copy);
  Result<std::vector<EvaluationSums>> own =
      setup_->evaluator->evaluate_share(model, {0, ranks_->size()});
  std::vector<std::vector<EvaluationSums>> all = {own ? std::move(*own)
                                                      : std::vector<EvaluationSums>()};
  std::string wrong;
  for (unsigned rank = 1; rank < ranks_->size(); ++rank) {
    MessageReader in(ranks_->receive(rank));
    const std::string error = in.get_text();
    if (!error.empty()) wrong = "rank " + std::to_string(rank) + ": " + error;
    all.push_back(in.get_list<EvaluationSums>());
  }
  if (!own) return tl::unexpected<Error>(std::move(own).error());
  if (!wrong.empty()) return fail(ErrorKind::kInternal, wrong);
  // In the order of the chunks, as one rank adds them.
  EvaluationSums total;
  for (std::size_t chunk = 0; chunk < setup_->evaluator->chunks(); ++chunk) {
    const std::vector<EvaluationSums>& of_rank = all[chunk % all.size()];
    if (chunk / all.size() >= of_rank.size()) {
      return fail(ErrorKind::kInternal,
                  "rank " + std::to_string(chunk % all.size()) + " has evaluated too few samples");
    }
    total.add(of_rank[chunk / all.size()]);
  }
  return total;
}

}  // namespace sotto
