#include "federation/local_transport.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/sha256.h"

namespace sotto {
Result<std::unique_ptr<LocalTransport>> LocalTransport::make(
    LocalClients clients, std::shared_ptr<const TrainerFactory> factory, unsigned threads) {
  std::unique_ptr<LocalTransport> transport(
      new LocalTransport(std::move(clients), std::move(factory)));
  transport->layout_ = std::make_shared<const Layout>(transport->factory_->layout());
  const unsigned lanes = std::clamp(threads, 1U, transport->factory_->parallelism());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SOTTO_TRY(auto trainer, transport->factory_->make());
    transport->lanes_.push_back({std::move(trainer), {}, {}, {}});
  }
  return transport;
}

Result<void> LocalTransport::collect(const RoundPlan& plan, std::span<const float> model,
                                     std::span<const EnvelopeSink> sinks) {
  std::mutex mutex;
  std::uint64_t done = 0;
  return parallel_for(
      lanes(), plan.clients.size(), [&](unsigned lane, std::size_t i) -> Result<void> {
        SOTTO_CHECK(run_client(lanes_[lane], plan, plan.clients[i], model, sinks[lane]));
        const std::scoped_lock lock(mutex);
        ++done;
        if (on_client) on_client(done, plan.clients.size());
        return {};
      });
}

Result<void> LocalTransport::run_client(Lane& lane, const RoundPlan& plan, std::uint32_t client,
                                        std::span<const float> model, const EnvelopeSink& sink) {
  const Stopwatch whole;
  SOTTO_CHECK(lane.trainer->load(model));

  std::vector<float> values = std::move(lane.weights);
  values.resize(layout_->size());
  const Stopwatch training;
  const auto samples = clients_.partition->client(client);
  if (plan.payload == Payload::kGradient) {
    SOTTO_CHECK(lane.trainer->gradient(*clients_.data, samples, clients_.preprocess, values));
  } else {
    SOTTO_CHECK(
        lane.trainer->train(*clients_.data, samples, clients_.preprocess, clients_.options,
                            BitSource::from_seed(clients_.seed, "train", {plan.round, client})));
  }
  const double train_seconds = training.seconds();

  if (plan.payload != Payload::kGradient) SOTTO_CHECK(lane.trainer->store(values));
  if (plan.payload == Payload::kDelta) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= model[i];
  }
  Bounded bounded = bound(Update(layout_, std::move(values)), plan.mechanism->domain());
  BitSource bits = BitSource::from_seed(clients_.seed, "perturb", {plan.round, client});
  Report report = plan.mechanism->perturb(bounded, bits);
  lane.weights = std::move(bounded).take();
  Sha256 hash;
  for (const Envelope& envelope : pack(std::move(report), plan.round, plan.split)) {
    if (hashes_reports) hash.add(envelope.serialize());
    SOTTO_CHECK(sink(envelope));
  }
  if (hashes_reports) lane.hashes.push_back({client, hash.hex()});

  lane.times.train += train_seconds;
  lane.times.engine += whole.seconds() - train_seconds;
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

LocalTransport::Times LocalTransport::take_times() {
  Times sum;
  for (Lane& lane : lanes_) {
    sum.train += lane.times.train;
    sum.engine += lane.times.engine;
    lane.times = {};
  }
  return sum;
}

}  // namespace sotto
