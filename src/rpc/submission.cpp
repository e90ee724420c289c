#include "rpc/submission.h"

#include <algorithm>

namespace sotto::rpc {

Result<Submission> read_header(SubmitReader& reader, const grpc::ServerContext& context,
                               const char* method, Gate& gate) {
  v1::SubmitRequest request;
  if (!reader.Read(&request) || !request.has_header()) {
    return fail(ErrorKind::kCorrupt, "a report begins with its header");
  }
  SOTTO_CHECK(check_known(request));
  SOTTO_TRY(const v1::SubmitHeader header,
            gate.admit<v1::SubmitHeader>(context, method, request.header()));
  return read_submission(header);
}

Result<std::vector<std::vector<std::byte>>> read_chunks(SubmitReader& reader,
                                                        const Submission& submission,
                                                        const ChunkCount& count, bool any_order) {
  if (submission.chunks != count.chunks) {
    return fail(ErrorKind::kRefused, "report: " + std::to_string(submission.chunks) +
                                         " chunks; this round has " + std::to_string(count.chunks));
  }
  std::vector<std::vector<std::byte>> chunks(count.chunks);
  v1::SubmitRequest request;
  for (std::size_t next = 0; reader.Read(&request); ++next) {
    SOTTO_CHECK(check_known(request));
    const std::size_t position = request.chunk().position();
    const bool expected = request.has_chunk() && next < count.chunks && position < count.chunks &&
                          (any_order ? chunks[position].empty() : position == next);
    if (!expected) {
      return fail(ErrorKind::kCorrupt,
                  "report: chunk " + std::to_string(next) + " is not one that the round asks for");
    }
    if (request.chunk().sealed().size() != count.bytes) {
      return fail(ErrorKind::kCorrupt,
                  "report: a chunk of " + std::to_string(request.chunk().sealed().size()) +
                      " bytes; every chunk of this round has " + std::to_string(count.bytes));
    }
    const auto bytes = as_span(request.chunk().sealed());
    chunks[position].assign(bytes.begin(), bytes.end());
  }
  if (std::ranges::any_of(chunks, [](const auto& chunk) { return chunk.empty(); })) {
    return fail(ErrorKind::kCorrupt, "report: ends before its last chunk");
  }
  if (digest_of(chunks) != submission.digest) {
    return fail(ErrorKind::kCorrupt, "report: its chunks are not those that its header names");
  }
  return chunks;
}

Result<void> Turnstile::Turn::check() const {
  if (mine_) return {};
  return fail(ErrorKind::kIo, "this client is handing in a report already");
}

bool Turnstile::enter(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  return inside_.insert(name).second;
}

void Turnstile::leave(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  inside_.erase(name);
}

}  // namespace sotto::rpc
