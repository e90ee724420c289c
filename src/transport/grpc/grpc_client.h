// A client process: joins a federation, and does each task that it is given until none is left.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/client_round.h"
#include "monitor/event.h"
#include "sotto/federation.h"
#include "transport/grpc/security.h"

namespace sotto::rpc {

struct ClientOptions {
  std::string server;    // "host:port"
  std::string shuffler;  // "host:port"; empty: none
  Security security;
  std::string name;
  std::string recipe_hash;  // the only one that is accepted; empty: whatever the server has
  std::optional<std::uint32_t> share;
  ParticipantOptions participant;  // data, limits; the rest is filled in
  std::shared_ptr<Ledger> ledger;
  /// How long a server or shuffler that does not answer is waited for.
  double patience_seconds = 120.0;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Recipe& recipe, std::uint32_t index)> on_joined;
  std::function<void(RoundId round)> on_task;
  std::function<void(const std::string&)> on_note;
  monitor::Sink on_event;
};

struct ClientSummary : ClientRound::Counts {
  std::uint32_t index = 0;
  std::string recipe_hash;
};

Result<ClientSummary> run_client(ClientOptions options, const MakeFactory& make_factory);

}  // namespace sotto::rpc
