// Sealed chunks: raw bytes as a chunk, and as what a hostile client seals with a valid box. What is
// opened is an envelope of the plan's round.
#include "identity/box.h"
#include "sotto/sealed.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  static const identity::SealKey kServer = identity::SealKey::generate();
  identity::ChunkPlan plan{"fuzz", 7,
                           size > identity::kSealOverhead ? size - identity::kSealOverhead : 1};
  fuzz::require(!identity::open_sealed(fuzz::input(data, size), plan, kServer).has_value());

  std::vector<std::byte> chunk(size + identity::kBoxOverhead);
  fuzz::require(identity::seal_box({data, size}, kServer.public_key,
                                   {reinterpret_cast<unsigned char*>(chunk.data()), chunk.size()}));
  if (chunk.size() <= identity::kSealOverhead) return 0;
  plan.largest_envelope = chunk.size() - identity::kSealOverhead;
  const auto envelope = identity::open_sealed(chunk, plan, kServer);
  if (!envelope) return 0;
  fuzz::require(envelope->round() == 7 && envelope->serialized_size() <= plan.largest_envelope);
  const auto again = identity::seal(*envelope, plan, kServer.public_key);
  fuzz::require(again && identity::open_sealed(*again, plan, kServer).has_value());
  return 0;
}
