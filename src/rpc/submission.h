// Reads a report as it streams in: the header, then every chunk once and in order.
#pragma once

#include <grpcpp/grpcpp.h>

#include "rpc/messages.h"
#include "sotto/v1/federation.grpc.pb.h"

namespace sotto::rpc {

using SubmitReader = grpc::ServerReader<v1::SubmitRequest>;

Result<Submission> read_header(SubmitReader& reader);
/// As many chunks as `sizes`, each exactly so long, and nothing after them.
Result<std::vector<std::vector<std::byte>>> read_chunks(SubmitReader& reader,
                                                        std::span<const std::uint32_t> sizes);

}  // namespace sotto::rpc
