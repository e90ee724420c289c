// The calls of a client, each tried once: what the network says becomes a Result.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "rpc/client.h"
#include "rpc/messages.h"
#include "sotto/v1/federation.grpc.pb.h"

namespace sotto::rpc {

/// What a client is asked to do now.
struct Assignment {
  bool finished = false;
  std::uint32_t again_ms = 0;
  std::optional<TaskHeader> task;
  std::vector<float> model;
};

class ClientLink {
 public:
  explicit ClientLink(const ClientOptions& options);

  Result<Joined> join() const;
  /// `most` weights, at most.
  Result<Assignment> pull(RoundId done_round, const Attempt& done, std::size_t weights) const;
  Result<void> decline(const TaskHeader& task) const;
  /// Seals every envelope and hands the report in, to the shuffler where there is one.
  Result<void> submit(const TaskHeader& task, const Invitation& invitation,
                      std::span<const std::vector<std::byte>> envelopes) const;

 private:
  const ClientOptions& options_;
  std::unique_ptr<v1::Coordinator::Stub> server_;
  std::unique_ptr<v1::Relay::Stub> shuffler_;
};

}  // namespace sotto::rpc
