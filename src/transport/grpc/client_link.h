// The calls of a client, each tried once: what the network says becomes a Result.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/credentials.h"
#include "transport/grpc/grpc_client.h"
#include "transport/grpc/messages.h"

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
  /// kRefused: a task for a model of another size than `weights`.
  Result<Assignment> pull(RoundId done_round, const Attempt& done, std::size_t weights) const;
  Result<void> decline(const TaskHeader& task) const;
  /// Gives the client's place back.
  Result<void> leave() const;
  /// Seals every envelope and hands the report in, to the shuffler where there is one. `delays`: of
  /// each chunk, in seconds; empty: none. It takes as long as the longest.
  Result<void> submit(const TaskHeader& task, const Handed& report,
                      std::span<const double> delays) const;
  /// What the shuffler's clients were asked for in a round.
  Result<std::vector<Asked>> compare(const Tag& run, RoundId round) const;

 private:
  /// Told that the number of its request is behind, a client signs it anew above, at once.
  template <class Call>
  auto anew(const Line& line, Call&& call) const;
  Result<Joined> join_once(grpc::ClientContext& context) const;
  Result<Assignment> pull_once(grpc::ClientContext& context, RoundId done_round,
                               const Attempt& done, std::size_t weights) const;
  Result<void> decline_once(grpc::ClientContext& context, const v2::DeclineRequest& request) const;
  Result<void> submit_once(grpc::ClientContext& context, const TaskHeader& task,
                           const Handed& report, std::span<const double> delays) const;
  Result<std::vector<Asked>> compare_once(grpc::ClientContext& context, const Tag& run,
                                          RoundId round) const;
  /// The message, signed for whoever is at the other end of the line.
  Result<v2::Signed> signed_for(const Line& line, const char* method,
                                const google::protobuf::Message& message) const;

  const ClientOptions& options_;
  Line server_line_;
  std::unique_ptr<v2::Coordinator::Stub> server_;
  std::optional<Line> shuffler_line_;
  std::unique_ptr<v2::Relay::Stub> shuffler_;
};

}  // namespace sotto::rpc
