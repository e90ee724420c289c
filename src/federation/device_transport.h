// A transport whose clients live on an accelerator: trained side by side, their reports drawn and
// added there (train/device_rounds.h), so that a round costs the memory of the host one sum. Rounds
// that need more of a client than its report's symbols, a random delay or a payload on a ball, are
// the transport's below it, client by client.
#pragma once

#include "federation/local_transport.h"
#include "train/device_rounds.h"

namespace sotto {

class DeviceTransport final : public Transport {
 public:
  /// `below` must outlive it.
  DeviceTransport(LocalTransport& below, std::shared_ptr<DeviceRounds> rounds)
      : below_(below), rounds_(std::move(rounds)) {}

  unsigned lanes() const noexcept override { return below_.lanes(); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

 private:
  bool takes(const RoundPlan& plan) const;
  Result<void> run(const RoundPlan& plan, const ClientGroup& group,
                   std::span<const std::uint32_t> clients, std::span<const float> model,
                   std::span<const EnvelopeSink> sinks, ClientStates& states);

  LocalTransport& below_;
  std::shared_ptr<DeviceRounds> rounds_;
};

}  // namespace sotto
