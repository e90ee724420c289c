// The calls of a client, each tried once: what the network says becomes a Result.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "rpc/client.h"
#include "rpc/credentials.h"
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
  /// Whether the node at the shuffler's address is one, before anything is paid for.
  Result<void> check_shuffler() const;
  /// `most` weights, at most.
  Result<Assignment> pull(RoundId done_round, const Attempt& done, std::size_t weights) const;
  Result<void> decline(const TaskHeader& task) const;
  /// Seals every envelope and hands the report in, to the shuffler where there is one.
  /// Where chunks have delays, one for each, it takes as long as the longest.
  Result<void> submit(const TaskHeader& task, const Invitation& invitation,
                      std::span<const Envelope> envelopes, std::span<const double> delays) const;

 private:
  /// The message, signed for whoever is at the other end of the line.
  Result<v1::Signed> signed_for(const Line& line, const char* method,
                                const google::protobuf::Message& message) const;

  const ClientOptions& options_;
  Line server_line_;
  std::unique_ptr<v1::Coordinator::Stub> server_;
  std::optional<Line> shuffler_line_;
  std::unique_ptr<v1::Relay::Stub> shuffler_;
};

}  // namespace sotto::rpc
