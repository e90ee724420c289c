#include "transport/device/device_transport.h"

#include <algorithm>

#include "base/parallel.h"
#include "shuffle/envelope_size.h"
#include "transport/device/device_batches.h"

namespace sotto {
namespace {

/// What a client's report would weigh in envelopes.
std::uint64_t report_bytes(const Mechanism& mechanism, std::size_t split) {
  const std::size_t total = mechanism.outputs();
  const std::size_t piece = split == 0 ? total : std::min(split, total);
  if (total == 0) return 0;
  const auto envelope = [&](std::size_t symbols) {
    return envelope_bytes(mechanism.id().size(), symbols, mechanism.symbol_bits());
  };
  const std::size_t rest = total % piece;
  return total / piece * envelope(piece) + (rest == 0 ? 0 : envelope(rest));
}

}  // namespace

Result<bool> DeviceTransport::takes(const RoundPlan& plan) {
  if (plan.reported != Reported::kPayload) return false;
  const bool gradients = plan.payload == Payload::kGradient;
  if (plan.latency > 0.0 || (plan.fills_ball && !gradients)) return false;
  if (below_.observer) return false;
  if (factory_) {
    const ClientSettings& all = below_.settings();
    SOTTO_TRY(rounds_, factory_->device_rounds({all.data, all.preprocess, all.options,
                                                all.keep_buffers, all.keep_optimizer, lanes()}));
    factory_.reset();
  }
  if (!rounds_) return false;
  if (gradients && rounds_->most_gradient_clients() == 0) return false;
  return std::ranges::all_of(plan.groups, [&](const ClientGroup& group) {
    return std::ranges::all_of(group.parts, [&](const Part& part) {
      const bool fits = !plan.fills_ball || part.mechanism->domain().shape == Shape::kBall;
      return fits && rounds_->takes(*part.mechanism);
    });
  });
}

Result<Delivery> DeviceTransport::collect(const RoundPlan& plan, std::span<const float> model,
                                          std::span<const EnvelopeSink> sinks) {
  SOTTO_TRY(const bool here, takes(plan));
  if (!here) return below_.collect(plan, model, sinks);
  Delivery delivery;
  ClientStates states;
  std::uint64_t done = 0;
  for (const ClientGroup& group : plan.groups) {
    delivery.groups.push_back({group.clients.size(), ""});
    if (!below_.hashes_reports) {  // else the sinks count the bytes of envelopes
      for (const Part& part : group.parts) {
        delivery.bytes_up += group.clients.size() * report_bytes(*part.mechanism, plan.split);
      }
    }
    if (plan.payload == Payload::kGradient) {
      SOTTO_CHECK(run_gradients(plan, group, model, sinks, done));
      continue;
    }
    // Side by side go clients of equally many samples whose optimizers have made equally many
    // steps.
    const auto key = [this](std::uint32_t client) {
      return std::pair(below_.partition().client(client).size(), below_.steps_of(client));
    };
    for (const auto& batch : device_batches(group.clients, rounds_->most_clients(), key)) {
      SOTTO_CHECK(run(plan, group, batch, model, sinks, states));
      done += batch.size();
      if (below_.on_client) below_.on_client(done, plan.clients());
    }
  }
  SOTTO_TRY(delivery.sums, rounds_->take_sums(plan.round));
  const DeviceRounds::Times times = rounds_->take_times();
  below_.absorb({}, {times.train, times.engine, 0.0}, std::move(states));
  return delivery;
}

Result<void> DeviceTransport::run_gradients(const RoundPlan& plan, const ClientGroup& group,
                                            std::span<const float> model,
                                            std::span<const EnvelopeSink> sinks,
                                            std::uint64_t& done) {
  const auto samples = [this](std::uint32_t client) { return below_.partition().client(client); };
  const auto key = [&](std::uint32_t client) { return samples(client).size(); };
  std::vector<DeviceRounds::Part> parts;
  for (const Part& part : group.parts) parts.push_back({part.mechanism, part.tensors});
  std::vector<std::vector<Report>> reports;
  DeviceRounds::GradientTask task{
      .model = model,
      .samples = samples,
      .perturb =
          [&](std::uint32_t client) { return below_.bits_for("perturb", plan.round, client); },
      .fills_ball = plan.fills_ball,
      .fill_floor = plan.fill_floor,
      .parts = parts,
      .reports = below_.hashes_reports ? &reports : nullptr};
  for (const auto& batch : device_batches(group.clients, rounds_->most_gradient_clients(), key)) {
    task.clients = batch;
    reports.clear();
    SOTTO_CHECK(rounds_->run_gradients(task));
    if (task.reports != nullptr) {
      SOTTO_CHECK(
          parallel_for(lanes(), batch.size(), [&](unsigned lane, std::size_t i) -> Result<void> {
            return below_.send_reports(lane, plan, batch[i], std::move(reports[i]), sinks[lane]);
          }));
    }
    done += batch.size();
    if (below_.on_client) below_.on_client(done, plan.clients());
  }
  return {};
}

Result<void> DeviceTransport::run(const RoundPlan& plan, const ClientGroup& group,
                                  std::span<const std::uint32_t> clients,
                                  std::span<const float> model, std::span<const EnvelopeSink> sinks,
                                  ClientStates& states) {
  std::vector<DeviceRounds::Client> asked;
  for (const std::uint32_t client : clients) {
    const auto samples = below_.partition().client(client);
    std::vector<float> state;
    if (const auto it = below_.states().find(client); it != below_.states().end()) {
      state = it->second;
    }
    asked.push_back({{samples.begin(), samples.end()},
                     below_.bits_for("train", plan.round, client),
                     below_.bits_for("perturb", plan.round, client),
                     std::move(state),
                     {}});
  }
  std::vector<DeviceRounds::Part> parts;
  for (const Part& part : group.parts) parts.push_back({part.mechanism, part.tensors});
  SOTTO_CHECK(rounds_->run(asked, {.model = model,
                                   .differences = plan.payload == Payload::kDelta,
                                   .reports = below_.hashes_reports,
                                   .parts = parts}));
  if (below_.hashes_reports) {
    SOTTO_CHECK(
        parallel_for(lanes(), clients.size(), [&](unsigned lane, std::size_t i) -> Result<void> {
          return below_.send_reports(lane, plan, clients[i], std::move(asked[i].reports),
                                     sinks[lane]);
        }));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (!asked[i].state.empty()) states[clients[i]] = std::move(asked[i].state);
  }
  return {};
}

}  // namespace sotto
