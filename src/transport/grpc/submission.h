// Reads a report as it streams in: the signed header, then every chunk once.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "server/coordinator/turnstile.h"
#include "sotto/v2/federation.grpc.pb.h"
#include "transport/grpc/gate.h"
#include "transport/grpc/messages.h"

namespace sotto::rpc {

using SubmitReader = grpc::ServerReader<v2::SubmitRequest>;

/// How many chunks a report has, and how long each of them is.
struct ChunkCount {
  std::size_t chunks = 0;
  std::size_t bytes = 0;
};

/// The call's place among those that hand in a report.
Turnstile::Turn turn_of(Turnstile& turnstile, const grpc::ServerContext& context);
/// The header, if its sender may hand in a report here.
Result<Submission> read_header(SubmitReader& reader, grpc::ServerContext& context,
                               const char* method, Gate& gate);
/// What becomes of a chunk; an error refuses the report.
using TakeChunk =
    std::function<Result<void>(std::size_t position, std::span<const std::byte> sealed)>;
/// Hands over exactly these chunks, each as it comes and where it lies, so that nobody holds a
/// report twice; in whatever order they come where `any_order`. An error where something is missing
/// or follows, or where they are not what the header's digest says: what was taken is then void.
/// Each of them is progress of the call.
Result<void> read_chunks(SubmitReader& reader, Turnstile::Turn& turn, const Submission& submission,
                         const ChunkCount& count, bool any_order, const TakeChunk& take);

}  // namespace sotto::rpc
