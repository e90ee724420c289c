// A transport whose clients live on an accelerator: trained side by side, their reports drawn and
// added there (train/device_rounds.h), so that a round costs the memory of the host one sum. Rounds
// that need more of a client than its report's symbols, a random delay or trained weights on a
// ball, are the transport's below it, client by client.
#pragma once

#include "train/device_rounds.h"
#include "transport/local/client_pool.h"

namespace sotto {

class DeviceTransport final : public Transport {
 public:
  /// `below` must outlive it. What `factory` has for such clients is made for the first round that
  /// may go there: their samples then lie on the device.
  DeviceTransport(ClientPool& below, std::shared_ptr<const TrainerFactory> factory)
      : below_(below), factory_(std::move(factory)) {}

  unsigned lanes() const noexcept override { return below_.lanes(); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

 private:
  Result<bool> takes(const RoundPlan& plan);
  Result<void> run_gradients(const RoundPlan& plan, const ClientGroup& group,
                             std::span<const float> model, std::span<const EnvelopeSink> sinks,
                             std::uint64_t& done);
  Result<void> run(const RoundPlan& plan, const ClientGroup& group,
                   std::span<const std::uint32_t> clients, std::span<const float> model,
                   std::span<const EnvelopeSink> sinks, ClientStates& states);

  ClientPool& below_;
  std::shared_ptr<const TrainerFactory> factory_;  // until it was asked
  std::shared_ptr<DeviceRounds> rounds_;           // null: there are none
};

}  // namespace sotto
