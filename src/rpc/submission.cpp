#include "rpc/submission.h"

namespace sotto::rpc {

Result<Submission> read_header(SubmitReader& reader) {
  v1::SubmitRequest request;
  if (!reader.Read(&request) || !request.has_header()) {
    return fail(ErrorKind::kCorrupt, "a report begins with its header");
  }
  SOTTO_CHECK(check_known(request));
  return read_submission(request.header());
}

Result<std::vector<std::vector<std::byte>>> read_chunks(SubmitReader& reader,
                                                        std::span<const std::uint32_t> sizes) {
  std::vector<std::vector<std::byte>> chunks;
  v1::SubmitRequest request;
  while (reader.Read(&request)) {
    SOTTO_CHECK(check_known(request));
    const std::size_t next = chunks.size();
    if (!request.has_chunk() || next == sizes.size() || request.chunk().position() != next ||
        request.chunk().sealed().size() != sizes[next]) {
      return fail(ErrorKind::kCorrupt, "report: chunk " + std::to_string(next) +
                                           " is not the one that the round asks for");
    }
    const auto bytes = as_span(request.chunk().sealed());
    chunks.emplace_back(bytes.begin(), bytes.end());
  }
  if (chunks.size() != sizes.size()) {
    return fail(ErrorKind::kCorrupt, "report: ends after " + std::to_string(chunks.size()) +
                                         " of " + std::to_string(sizes.size()) + " chunks");
  }
  return chunks;
}

}  // namespace sotto::rpc
