// A transport whose envelopes never reach the server one by one: clients mask them, and the server
// is given their sum (sotto/secure.h). The clients' work is that of the transport below it. Clients
// with different mechanisms are never added to one another, so each group has masks of its own.
#pragma once

#include "transport/local/client_pool.h"

namespace sotto {

class SecureTransport final : public Transport {
 public:
  /// `below` and `recipe` must outlive it.
  SecureTransport(ClientPool& below, const Recipe& recipe) : below_(below), recipe_(recipe) {}

  unsigned lanes() const noexcept override { return below_.lanes(); }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

 private:
  ClientPool& below_;
  const Recipe& recipe_;
};

}  // namespace sotto
