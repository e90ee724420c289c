#include "transport/secure/secure_transport.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "plan/baselines.h"
#include "secure/simulation.h"

namespace sotto {
namespace {

/// The protocol of one group; none where it has too few clients to begin.
struct GroupProtocol {
  std::uint32_t threshold = 0;
  std::unique_ptr<secure::Simulation> parties;
};

}  // namespace

Result<Delivery> SecureTransport::collect(const RoundPlan& plan, std::span<const float> model,
                                          std::span<const EnvelopeSink> sinks) {
  const auto seed = static_cast<std::uint64_t>(recipe_.federation.seed);
  RoundPlan left = plan;
  std::vector<GroupProtocol> protocols(plan.groups.size());
  /// Where a client's report goes: its group's protocol and its place in it.
  std::map<std::uint32_t, std::pair<secure::Simulation*, secure::Member>> places;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const std::vector<std::uint32_t>& clients = plan.groups[i].clients;
    GroupProtocol& protocol = protocols[i];
    protocol.threshold = unmasking_threshold(recipe_, clients.size());
    left.groups[i].clients.clear();
    if (clients.size() < protocol.threshold) continue;
    const secure::Session session{plan.round, static_cast<std::uint32_t>(clients.size()),
                                  protocol.threshold};
    const auto bits_of = [&](secure::Member member) {
      return BitSource::from_seed(seed, "secure", {plan.round, clients[member]});
    };
    SOTTO_TRY(protocol.parties, secure::Simulation::begin(session, bits_of, lanes()));
    for (secure::Member member = 0; member < session.members; ++member) {
      places[clients[member]] = {protocol.parties.get(), member};
    }
    const std::vector<std::uint32_t> gone = vanishing(recipe_, plan.round, clients);
    std::ranges::set_difference(clients, gone, std::back_inserter(left.groups[i].clients));
  }
  below_.outbox = [&](std::uint32_t client, std::span<const Envelope> envelopes) {
    const auto& [parties, member] = places.at(client);
    return parties->submit(member, envelopes);
  };
  auto delivery = below_.collect(left, model, sinks);
  below_.outbox = nullptr;
  if (!delivery) return delivery;

  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const std::uint64_t reports = left.groups[i].clients.size();
    if (protocols[i].parties) delivery->bytes_up += protocols[i].parties->bytes_up();
    if (reports < protocols[i].threshold) {
      delivery->groups[i].withheld =
          std::to_string(reports) +
          " reports are fewer than the threshold of secure aggregation, " +
          std::to_string(protocols[i].threshold);
      continue;
    }
    SOTTO_TRY(std::vector<SummedEnvelope> sums, protocols[i].parties->finish(lanes()));
    std::ranges::move(sums, std::back_inserter(delivery->sums));
  }
  return delivery;
}

}  // namespace sotto
