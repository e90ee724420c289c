// Synthetic clients, to measure what a server can take: real connections and real messages, without
// training. Made for one process that plays many clients; nothing else uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/coordinator/coordinator.h"

namespace sotto::rpc {

/// One report of a round, sealed, with what its header says. Sent under many names it is counted
/// once for each.
struct LoadReport {
  Invitation invitation;
  Contract contract;
  std::vector<std::vector<std::byte>> sealed;

  std::uint64_t bytes() const;
};

/// A report of the plan's first group for this invitation, in a round that begins with this model.
Result<LoadReport> make_load(const RoundPlan& plan, const Invitation& invitation,
                             std::span<const float> model);

/// "load-17"
std::string load_name(std::uint32_t client);

/// Clients that have joined, each with a connection of its own, held until this goes.
class Crowd {
 public:
  static Result<std::unique_ptr<Crowd>> join(const std::string& address, std::uint32_t clients);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  struct Parts;
  Crowd();
  std::unique_ptr<Parts> parts_;
};

enum class LoadTarget { kServer, kDrain };

/// Hands the report in under the names of `clients` clients, over `streams` connections at once;
/// seconds that it took.
Result<double> send_load(const std::string& address, LoadTarget target, const LoadReport& report,
                         std::uint32_t clients, unsigned streams);

/// Reads the same messages and forgets them: what the network alone costs.
class Drain {
 public:
  static Result<std::unique_ptr<Drain>> start(const std::string& address);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  const std::string& address() const { return address_; }

 private:
  struct Parts;
  Drain();
  std::unique_ptr<Parts> parts_;
  std::string address_;
};

}  // namespace sotto::rpc
