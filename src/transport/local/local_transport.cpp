#include "transport/local/local_transport.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "bound/fill_ball.h"

namespace sotto {
Result<std::unique_ptr<LocalTransport>> LocalTransport::make(
    LocalClients clients, std::shared_ptr<const TrainerFactory> factory, unsigned threads) {
  std::unique_ptr<LocalTransport> transport(
      new LocalTransport(std::move(clients), std::move(factory)));
  transport->layout_ = std::make_shared<const Layout>(transport->factory_->layout());
  const unsigned lanes = std::clamp(threads, 1U, transport->factory_->parallelism());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SOTTO_TRY(auto trainer, transport->factory_->make());
    transport->lanes_.push_back({std::move(trainer), {}, {}, {}, {}});
  }
  for (std::size_t i = 0; i < transport->layout_->tensors().size(); ++i) {
    if (transport->layout_->tensors()[i].role == TensorRole::kBuffer) {
      transport->buffers_.push_back(i);
      if (transport->clients_.keep_buffers) {
        transport->buffer_values_ += transport->layout_->tensors()[i].size;
      }
    }
  }
  return transport;
}

Result<Delivery> LocalTransport::collect(const RoundPlan& plan, std::span<const float> model,
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

Result<void> LocalTransport::run_client(Lane& lane, const RoundPlan& plan, const ClientGroup& group,
                                        std::uint32_t client, std::span<const float> model,
                                        const EnvelopeSink& sink) {
  const Stopwatch whole;
  const auto train = [&]() -> Result<double> {
    if (!on_training_error) return train_client(lane, plan, client, model);
    try {
      return train_client(lane, plan, client, model);
    } catch (const std::exception& problem) {  // too little memory for so many samples, say
      return fail(ErrorKind::kInternal, std::string("training: ") + problem.what());
    }
  };
  const Result<double> trained = train();
  if (!trained && !on_training_error) return tl::unexpected(trained.error());
  if (!trained) {
    on_training_error(trained.error());
    keep_still(lane, plan, model);
  }
  const double train_seconds = trained.value_or(0.0);
  SOTTO_CHECK(send_client(lane, plan, group, client, sink));
  lane.times.train += train_seconds;
  lane.times.engine += whole.seconds() - train_seconds;
  return {};
}

BitSource LocalTransport::bits_for(std::string_view purpose, RoundId round,
                                   std::uint32_t client) const {
  if (system_bits) return BitSource::from_system();
  return BitSource::from_seed(clients_.seed, purpose, {round, client});
}

/// The model, with what the client has kept of its own in place of the model's.
Result<void> LocalTransport::load_client(Lane& lane, std::uint32_t client,
                                         std::span<const float> model) {
  if (!clients_.keep_buffers && !clients_.keep_optimizer) return lane.trainer->load(model);
  std::vector<float> state;
  {
    const std::scoped_lock lock(states_mutex_);
    if (const auto it = states_.find(client); it != states_.end()) state = it->second;
  }
  lane.weights.assign(model.begin(), model.end());
  std::size_t used = 0;
  if (clients_.keep_buffers && !state.empty()) {
    for (const std::size_t i : buffers_) {
      const TensorSpec& tensor = layout_->tensors()[i];
      std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(used), tensor.size,
                  lane.weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
      used += tensor.size;
    }
  }
  if (clients_.keep_optimizer) {
    lane.trainer->set_optimizer_state(std::span(state).subspan(used));
  }
  return lane.trainer->load(lane.weights);
}

void LocalTransport::keep_client(Lane& lane, std::uint32_t client) {
  if (!clients_.keep_buffers && !clients_.keep_optimizer) return;
  std::vector<float> state;
  if (clients_.keep_buffers) {
    for (const std::size_t i : buffers_) {
      const TensorSpec& tensor = layout_->tensors()[i];
      const auto first = lane.weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
      state.insert(state.end(), first, first + static_cast<std::ptrdiff_t>(tensor.size));
    }
  }
  if (clients_.keep_optimizer) {
    const std::vector<float> optimizer = lane.trainer->optimizer_state();
    state.insert(state.end(), optimizer.begin(), optimizer.end());
  }
  const std::scoped_lock lock(states_mutex_);
  states_[client] = std::move(state);
}

void LocalTransport::keep_still(Lane& lane, const RoundPlan& plan,
                                std::span<const float> model) const {
  if (plan.payload == Payload::kWeights) {
    lane.weights.assign(model.begin(), model.end());
  } else {
    lane.weights.assign(layout_->size(), 0.0F);
  }
}

Result<double> LocalTransport::train_client(Lane& lane, const RoundPlan& plan, std::uint32_t client,
                                            std::span<const float> model) {
  SOTTO_CHECK(load_client(lane, client, model));
  lane.weights.resize(layout_->size());
  const auto samples = clients_.partition->client(client);
  if (samples.empty()) {
    keep_still(lane, plan, model);
    return 0.0;
  }
  const Stopwatch training;
  if (plan.payload == Payload::kGradient) {
    SOTTO_CHECK(lane.trainer->gradient(*clients_.data, samples, clients_.preprocess, lane.weights));
    return training.seconds();
  }
  SOTTO_CHECK(lane.trainer->train(*clients_.data, samples, clients_.preprocess, clients_.options,
                                  bits_for("train", plan.round, client)));
  const double seconds = training.seconds();
  SOTTO_CHECK(lane.trainer->store(lane.weights));
  keep_client(lane, client);
  if (plan.payload == Payload::kDelta) {
    for (std::size_t i = 0; i < model.size(); ++i) lane.weights[i] -= model[i];
  }
  return seconds;
}

Result<void> LocalTransport::send_client(Lane& lane, const RoundPlan& plan,
                                         const ClientGroup& group, std::uint32_t client,
                                         const EnvelopeSink& sink) {
  BitSource bits = bits_for("perturb", plan.round, client);
  BitSource delays = bits_for("latency", plan.round, client);
  Sha256 hash;
  std::vector<Envelope> kept;
  for (const Part& part : group.parts) {
    const bool whole = part.tensors.size() == layout_->tensors().size();
    std::vector<float>& values = whole ? lane.weights : lane.slice;
    if (!whole) {
      lane.slice.clear();
      for (const std::size_t i : part.tensors) {
        const TensorSpec& tensor = layout_->tensors()[i];
        const auto first = lane.weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
        lane.slice.insert(lane.slice.end(), first,
                          first + static_cast<std::ptrdiff_t>(tensor.size));
      }
    }
    const Domain& domain = part.mechanism->domain();
    if (plan.fills_ball) fill_ball(values, domain.norm);
    Bounded bounded = bound(Update(domain.layout, std::move(values)), domain);
    Report report = part.mechanism->perturb(bounded, bits);
    if (observer) observer->on_report(plan, client, part, bounded.values(), report);
    values = std::move(bounded).take();
    SOTTO_CHECK(send(std::move(report), plan, hash, [&](const Envelope& envelope) -> Result<void> {
      if (plan.latency > 0.0) {
        lane.times.delay = std::max(lane.times.delay, plan.latency * delays.unit());
      }
      if (!outbox) return sink(envelope);
      kept.push_back(envelope);
      return {};
    }));
  }
  if (outbox) SOTTO_CHECK(outbox(client, kept));
  if (hashes_reports) lane.hashes.push_back({client, hash.hex()});
  return {};
}

Result<void> LocalTransport::send(Report report, const RoundPlan& plan, Sha256& hash,
                                  const EnvelopeSink& sink) const {
  for (const Envelope& envelope : pack(std::move(report), plan.round, plan.split)) {
    if (hashes_reports) hash.add(envelope.serialize());
    SOTTO_CHECK(sink(envelope));
  }
  return {};
}

std::optional<float> LocalTransport::steps_of(std::uint32_t client) const {
  const auto it = states_.find(client);
  if (it == states_.end() || it->second.size() <= buffer_values_) return {};
  return it->second[buffer_values_];
}

Result<void> LocalTransport::send_reports(unsigned lane, const RoundPlan& plan,
                                          std::uint32_t client, std::vector<Report> reports,
                                          const EnvelopeSink& sink) {
  const Stopwatch whole;
  Sha256 hash;
  for (Report& report : reports) SOTTO_CHECK(send(std::move(report), plan, hash, sink));
  if (hashes_reports) lanes_[lane].hashes.push_back({client, hash.hex()});
  lanes_[lane].times.engine += whole.seconds();
  return {};
}

Result<void> LocalTransport::restore(ClientStates states) {
  for (const auto& [client, state] : states) {
    if (client < clients_.partition->clients() && state.size() >= buffer_values_) continue;
    return fail(ErrorKind::kCorrupt, "the checkpoint's state of client " + std::to_string(client) +
                                         " is not one of this network");
  }
  states_ = std::move(states);
  return {};
}

std::vector<ReportHash> LocalTransport::take_hashes() {
  std::vector<ReportHash> all;
  for (Lane& lane : lanes_) {
    all.insert(all.end(), lane.hashes.begin(), lane.hashes.end());
    lane.hashes.clear();
  }
  std::ranges::sort(all, {}, &ReportHash::client);
  return all;
}

void LocalTransport::absorb(std::vector<ReportHash> hashes, const Times& times,
                            ClientStates states) {
  Lane& lane = lanes_.front();
  lane.times.train += times.train;
  lane.times.engine += times.engine;
  lane.times.delay = std::max(lane.times.delay, times.delay);
  std::ranges::move(hashes, std::back_inserter(lane.hashes));
  for (auto& [client, state] : states) states_[client] = std::move(state);
}

LocalTransport::Times LocalTransport::take_times() {
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
