#include "transport/local/client_pool.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/sha256.h"

namespace sotto {

ClientPool::ClientPool(ClientSettings settings, const Partition& partition, std::uint64_t seed,
                       std::shared_ptr<const Layout> layout, TrainerPool& trainers)
    : settings_(std::move(settings)), partition_(partition), seed_(seed) {
  for (unsigned lane = 0; lane < trainers.size(); ++lane) {
    lanes_.push_back({Client(settings_, layout, trainers[lane]), {}, {}});
  }
}

Result<Delivery> ClientPool::collect(const RoundPlan& plan, std::span<const float> model,
                                     std::span<const EnvelopeSink> sinks) {
  std::vector<std::pair<const ClientGroup*, std::uint32_t>> clients;
  Delivery delivery;
  for (const ClientGroup& group : plan.groups) {
    for (const std::uint32_t client : group.clients) clients.emplace_back(&group, client);
    delivery.groups.push_back({group.clients.size(), ""});
  }
  std::mutex mutex;
  std::uint64_t done = 0;
  const auto all =
      parallel_for(lanes(), clients.size(), [&](unsigned lane, std::size_t i) -> Result<void> {
        const auto& [group, client] = clients[i];
        SOTTO_CHECK(run_client(lanes_[lane], plan, *group, client, model, sinks[lane]));
        const std::scoped_lock lock(mutex);
        ++done;
        if (on_client) on_client(done, clients.size());
        return {};
      });
  SOTTO_CHECK(all);
  return delivery;
}

Result<void> ClientPool::run_client(Lane& lane, const RoundPlan& plan, const ClientGroup& group,
                                    std::uint32_t client, std::span<const float> model,
                                    const EnvelopeSink& sink) {
  const Stopwatch whole;
  std::vector<Envelope> kept;
  const EnvelopeSink keep = [&](const Envelope& envelope) -> Result<void> {
    kept.push_back(envelope);
    return {};
  };
  ClientTask task;
  task.client = client;
  task.samples = partition_.client(client);
  task.bits = [&](std::string_view purpose) { return bits_for(purpose, plan.round, client); };
  task.state = state_of(client);
  lane.client.hashes_reports = hashes_reports;
  lane.client.observer = observer.get();
  SOTTO_TRY(ClientOutcome outcome,
            lane.client.run(plan, group, model, std::move(task), outbox ? keep : sink));
  if (outbox) SOTTO_CHECK(outbox(client, kept));
  if (hashes_reports) lane.hashes.push_back({client, std::move(outcome.report_hash)});
  if (settings_.keeps_state() && !outcome.state.empty()) {
    const std::scoped_lock lock(states_mutex_);
    states_[client] = std::move(outcome.state);
  }
  lane.times.train += outcome.train_seconds;
  lane.times.engine += whole.seconds() - outcome.train_seconds;
  lane.times.delay = std::max(lane.times.delay, outcome.delay_seconds);
  return {};
}

std::vector<float> ClientPool::state_of(std::uint32_t client) {
  if (!settings_.keeps_state()) return {};
  const std::scoped_lock lock(states_mutex_);
  const auto it = states_.find(client);
  return it == states_.end() ? std::vector<float>() : it->second;
}

BitSource ClientPool::bits_for(std::string_view purpose, RoundId round,
                               std::uint32_t client) const {
  return BitSource::from_seed(seed_, purpose, {round, client});
}

std::optional<float> ClientPool::steps_of(std::uint32_t client) const {
  const std::size_t buffers = lanes_.front().client.buffer_values();
  const auto it = states_.find(client);
  if (it == states_.end() || it->second.size() <= buffers) return {};
  return it->second[buffers];
}

Result<void> ClientPool::send_reports(unsigned lane, const RoundPlan& plan, std::uint32_t client,
                                      std::vector<Report> reports, const EnvelopeSink& sink) {
  const Stopwatch whole;
  Sha256 hash;
  for (Report& report : reports) {
    SOTTO_CHECK(send_report(std::move(report), plan, hashes_reports ? &hash : nullptr, sink));
  }
  if (hashes_reports) lanes_[lane].hashes.push_back({client, hash.hex()});
  lanes_[lane].times.engine += whole.seconds();
  return {};
}

Result<void> ClientPool::restore(ClientStates states) {
  const std::size_t buffers = lanes_.front().client.buffer_values();
  for (const auto& [client, state] : states) {
    if (client < partition_.clients() && state.size() >= buffers) continue;
    return fail(ErrorKind::kCorrupt, "the checkpoint's state of client " + std::to_string(client) +
                                         " is not one of this network");
  }
  states_ = std::move(states);
  return {};
}

std::vector<ReportHash> ClientPool::take_hashes() {
  std::vector<ReportHash> all;
  for (Lane& lane : lanes_) {
    all.insert(all.end(), lane.hashes.begin(), lane.hashes.end());
    lane.hashes.clear();
  }
  std::ranges::sort(all, {}, &ReportHash::client);
  return all;
}

void ClientPool::absorb(std::vector<ReportHash> hashes, const Times& times, ClientStates states) {
  Lane& lane = lanes_.front();
  lane.times.train += times.train;
  lane.times.engine += times.engine;
  lane.times.delay = std::max(lane.times.delay, times.delay);
  std::ranges::move(hashes, std::back_inserter(lane.hashes));
  for (auto& [client, state] : states) states_[client] = std::move(state);
}

ClientPool::Times ClientPool::take_times() {
  Times sum;
  for (Lane& lane : lanes_) {
    sum.train += lane.times.train;
    sum.engine += lane.times.engine;
    sum.delay = std::max(sum.delay, lane.times.delay);
    lane.times = {};
  }
  return sum;
}

}  // namespace sotto
