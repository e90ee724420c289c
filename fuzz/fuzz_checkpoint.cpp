// Checkpoints, with a hash that fits: only the content's own checks stand between a damaged or
// foreign file and a run that goes on from it. The raw bytes, whose hash is wrong, are refused.
#include <cmath>

#include "base/sha256.h"
#include "server/checkpoint.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  const ByteSpan bytes = fuzz::input(data, size);
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  const std::string hash = sha256_hex(bytes);
  const auto digits = std::as_bytes(std::span(hash));
  sealed.insert(sealed.end(), digits.begin(), digits.end());
  static_cast<void>(parse_checkpoint(bytes, "f"));
  const auto checkpoint = parse_checkpoint(sealed, "f");
  if (!checkpoint) {
    fuzz::require(!checkpoint.error().message.empty());
    return 0;
  }
  std::size_t values = checkpoint->weights.size() + checkpoint->velocity.size();
  for (const auto& [client, state] : checkpoint->states) values += state.size();
  fuzz::require(values * sizeof(float) < size);
  for (const float weight : checkpoint->weights) fuzz::require(std::isfinite(weight));
  for (const auto& [round, ranges] : checkpoint->ranges) {
    for (const Range& range : ranges) fuzz::require(range.radius > 0.0);
  }
  return 0;
}
