#include "transport/grpc/submission.h"

#include <optional>

namespace sotto::rpc {

Turnstile::Turn turn_of(Turnstile& turnstile, const grpc::ServerContext& context) {
  return {turnstile, certificate_of(context), [&context] { context.TryCancel(); }};
}

Result<Submission> read_header(SubmitReader& reader, grpc::ServerContext& context,
                               const char* method, Gate& gate) {
  SOTTO_CHECK(gate.check_member(context, identity::Role::kClient));
  v2::SubmitRequest request;
  if (!reader.Read(&request) || !request.has_header()) {
    return fail(ErrorKind::kCorrupt, "a report begins with its header");
  }
  SOTTO_CHECK(check_known(request));
  SOTTO_TRY(const v2::SubmitHeader header,
            gate.admit<v2::SubmitHeader>(context, method, request.header()));
  SOTTO_TRY(Submission submission, read_submission(header));
  if (!gate.plain_connections() && submission.digest.empty()) {
    return fail(ErrorKind::kCorrupt, "report: a signed header without the digest of its chunks");
  }
  return submission;
}

Result<void> read_chunks(SubmitReader& reader, Turnstile::Turn& turn, const Submission& submission,
                         const ChunkCount& count, bool any_order, const TakeChunk& take) {
  std::optional<ReportDigest> digest;
  if (!submission.digest.empty()) digest.emplace(count.chunks);
  std::vector<bool> here(count.chunks);
  std::size_t taken = 0;
  v2::SubmitRequest request;
  for (; reader.Read(&request); ++taken) {
    SOTTO_CHECK(check_known(request));
    const std::size_t position = request.chunk().position();
    const bool expected = request.has_chunk() && taken < count.chunks && position < count.chunks &&
                          (any_order ? !here[position] : position == taken);
    if (!expected) {
      return fail(ErrorKind::kCorrupt,
                  "report: chunk " + std::to_string(taken) + " is not one that the round asks for");
    }
    const auto sealed = as_span(request.chunk().sealed());
    if (sealed.size() != count.bytes) {
      return fail(ErrorKind::kCorrupt, "report: a chunk of " + std::to_string(sealed.size()) +
                                           " bytes; every chunk of this round has " +
                                           std::to_string(count.bytes));
    }
    here[position] = true;
    turn.progress(sealed.size());
    if (digest) digest->add(position, sealed);
    SOTTO_CHECK(take(position, sealed));
  }
  if (taken < count.chunks) return fail(ErrorKind::kCorrupt, "report: ends before its last chunk");
  if (digest && digest->hex() != submission.digest) {
    return fail(ErrorKind::kCorrupt, "report: its chunks are not those that its header names");
  }
  return {};
}

}  // namespace sotto::rpc
