#include "federation/secure_transport.h"

#include <algorithm>
#include <iterator>

#include "federation/baselines.h"
#include "secure/simulation.h"

namespace sotto {

Result<Delivery> SecureTransport::collect(const RoundPlan& plan, std::span<const float> model,
                                          std::span<const EnvelopeSink> sinks) {
  const std::vector<std::uint32_t>& clients = plan.clients;
  const std::vector<std::uint32_t> gone = vanishing(recipe_, plan.round, clients);
  RoundPlan left = plan;
  left.clients.clear();
  std::ranges::set_difference(clients, gone, std::back_inserter(left.clients));

  Delivery delivery;
  delivery.reports = left.clients.size();
  const std::uint32_t threshold = unmasking_threshold(recipe_, clients.size());
  if (clients.size() < threshold) {
    delivery.withheld = std::to_string(clients.size()) +
                        " clients are fewer than the threshold of secure aggregation, " +
                        std::to_string(threshold);
    delivery.reports = 0;
    return delivery;
  }
  const auto seed = static_cast<std::uint64_t>(recipe_.federation.seed);
  const secure::Session session{plan.round, static_cast<std::uint32_t>(clients.size()), threshold};
  SOTTO_TRY(const auto protocol,
            secure::Simulation::begin(
                session,
                [&](secure::Member member) {
                  return BitSource::from_seed(seed, "secure", {plan.round, clients[member]});
                },
                lanes()));
  below_.outbox = [&](std::uint32_t client, std::span<const Envelope> envelopes) {
    const auto place = std::ranges::lower_bound(clients, client) - clients.begin();
    return protocol->submit(static_cast<secure::Member>(place), envelopes);
  };
  const auto collected = below_.collect(left, model, sinks);
  below_.outbox = nullptr;
  if (!collected) return tl::unexpected(collected.error());

  if (left.clients.size() < threshold) {
    delivery.withheld = std::to_string(left.clients.size()) +
                        " reports are fewer than the threshold of secure aggregation, " +
                        std::to_string(threshold);
  } else {
    SOTTO_TRY(delivery.sums, protocol->finish(lanes()));
  }
  delivery.bytes_up = protocol->bytes_up();
  return delivery;
}

}  // namespace sotto
