// What the roles of a federation keep beside them and read after a restart: who has which place,
// the shuffler's batch, what clients have spent. The first byte chooses. The files are their own,
// but a disk may damage them, and a backup may be another's.
#include <nlohmann/json.hpp>

#include "monitor/spent.h"
#include "rpc/roster.h"
#include "rpc/spool.h"
#include "scratch.h"

namespace {

using namespace sotto;

/// A spool whose round has one group; `batch` is what its batch.json holds.
void read_batch(const fuzz::Scratch& scratch, ByteSpan batch) {
  constexpr std::uint32_t kChunkBytes = 8;
  const rpc::SpoolRound round{{}, 7, {{2, kChunkBytes}}};
  static const std::filesystem::path folder = [&] {
    const auto spool = scratch.path() / "spool";
    auto opened = rpc::Spool::open(spool);
    fuzz::require(opened && opened->begin(round));
    const std::vector<std::byte> report(std::size_t{2} * kChunkBytes);
    for (const char* const name : {"a", "b"}) fuzz::require(opened->add(name, 0, report).value());
    return std::filesystem::relative(std::filesystem::directory_iterator(spool)->path() / "group-0",
                                     scratch.path());
  }();
  scratch.write((folder / "batch.json").string(), batch);
  auto spool = rpc::Spool::open(scratch.path() / "spool");
  fuzz::require(spool.has_value());
  if (const auto begun = spool->begin(round); !begun) {
    fuzz::require(!begun.error().message.empty());
    return;
  }
  fuzz::require(spool->closed(0));
  for (const std::size_t position : {0, 1}) {
    const auto chunks = spool->batch(0, position);
    if (!chunks) continue;  // names a report that is not there
    fuzz::require(chunks->size() == spool->reports(0));
    for (const auto& chunk : *chunks) fuzz::require(chunk.size() == kChunkBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::uint8_t kind = *data++;
  const ByteSpan bytes = fuzz::input(data, --size);
  switch (kind % 3) {
    case 0: {
      constexpr std::size_t kClients = 5;
      auto roster = rpc::Roster::open(scratch.write("roster.txt", bytes), kClients);
      if (!roster) break;
      fuzz::require(roster->size() <= kClients);
      const auto place = roster->join("new", std::nullopt);
      fuzz::require(place ? *place < kClients : !place.error().message.empty());
      break;
    }
    case 1:
      read_batch(scratch, bytes);
      break;
    default: {
      const auto spent = monitor::Spent::open(scratch.write("spent.json", bytes), 3);
      fuzz::require(spent && spent->epsilon() >= 0.0 && spent->delta() >= 0.0);
    }
  }
  return 0;
}
