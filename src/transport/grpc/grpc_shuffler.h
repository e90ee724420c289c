// The shuffler: takes sealed reports from clients, holds them until enough different clients have
// sent one, and passes them on in random order, without names. It has no key to read them with.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "monitor/event.h"
#include "transport/grpc/security.h"

namespace sotto::rpc {

struct ShufflerOptions {
  std::string listen;  // "host:port" for clients
  std::string server;  // "host:port" of the server
  Security security;
  std::filesystem::path state;  // where reports wait
  std::uint32_t minimum = 2;    // reports of a batch, whatever the server says
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string& address)> on_ready;
  std::function<void(const std::string&)> on_note;
  monitor::Sink on_event;
};

struct ShufflerSummary {
  std::uint64_t batches = 0;
  std::uint64_t reports = 0;  // passed on
  std::uint64_t chunks = 0;
  std::uint64_t withheld = 0;  // batches that stayed too small
};

/// Works until the server has finished or `stop` is set.
Result<ShufflerSummary> run_shuffler(const ShufflerOptions& options);

}  // namespace sotto::rpc
