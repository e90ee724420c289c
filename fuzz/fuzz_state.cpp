// What the roles of a federation keep beside them and read after a restart: who has which place,
// the shuffler's batch, what clients have spent. The first byte chooses. The files are their own,
// but a disk may damage them, and a backup may be another's.
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "monitor/spent.h"
#include "scratch.h"
#include "server/coordinator/roster.h"
#include "shuffle/spool.h"

namespace {

using namespace sotto;

using rpc::Contract;
using rpc::Spool;

Contract contract() {
  Contract one;
  one.recipe = one.model = std::string(64, 'a');
  one.round = 7;
  one.mechanisms = {"none.v1"};
  one.chunks = 2;
  one.chunk_bytes = identity::kSealOverhead + 8;
  one.shuffled = true;
  return one;
}

rpc::SpoolRound round() { return {{}, 7, {contract().digest()}}; }

/// A spool in which two reports wait, made once; its batch's folder.
const std::filesystem::path& spool_folder(const fuzz::Scratch& scratch) {
  static const std::filesystem::path folder = [&] {
    const auto path = scratch.path() / "spool";
    auto spool = Spool::open(path);
    fuzz::require(spool && spool->begin(round()));
    for (const char* const name : {"a", "b"}) {
      const std::vector<std::byte> report(contract().chunks * contract().chunk_bytes);
      fuzz::require(spool->add(sha256_hex(name), contract(), 1, report).value());
    }
    return std::filesystem::relative(
        rpc::spool_files::round_folder(path, {{}, 7}) / contract().digest(), scratch.path());
  }();
  return folder;
}

/// The text with the digest that its file must have: what is behind it is then reached too.
std::string with_digest(ByteSpan bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  try {
    json["sha256"] = sha256_hex(json.dump());
    return json.dump();
  } catch (const nlohmann::json::exception&) {
    return text;
  }
}

/// `batch` is what the batch's batch.json holds.
void read_batch(const fuzz::Scratch& scratch, ByteSpan batch) {
  const std::filesystem::path folder = spool_folder(scratch);
  const std::string text = with_digest(batch);
  scratch.write((folder / "batch.json").string(), std::as_bytes(std::span(text)));
  auto spool = Spool::open(scratch.path() / "spool");
  fuzz::require(spool && spool->begin(round()));
  const rpc::BatchState state = spool->state(0);
  fuzz::require(state == rpc::BatchState::kClosed || state == rpc::BatchState::kStopped);
  for (const std::size_t position : {0, 1}) {
    const auto chunks = spool->batch(0, position);
    if (!chunks) continue;  // too few of those that it names are there
    fuzz::require(chunks->size() == spool->reports(0));
    for (const auto& chunk : *chunks) fuzz::require(chunk.size() == contract().chunk_bytes);
  }
}

/// What says which rounds are over.
void read_memory(const fuzz::Scratch& scratch, ByteSpan bytes) {
  const auto folder = scratch.path() / "memory";
  std::filesystem::create_directories(folder);
  const std::string text = with_digest(bytes);
  scratch.write("memory/state.json", std::as_bytes(std::span(text)));
  const auto memory = rpc::spool_files::read_memory(folder);
  if (!memory) return;
  fuzz::require(rpc::spool_files::write_memory(folder, *memory).has_value());
  const auto again = rpc::spool_files::read_memory(folder);
  fuzz::require(again && again->floors == memory->floors && again->current == memory->current);
}

/// A report's file.
void read_kept(const fuzz::Scratch& scratch, ByteSpan bytes) {
  const auto file = scratch.write(sha256_hex("a") + ".report", bytes);
  if (const auto facts = rpc::spool_files::check_report(file)) {
    fuzz::require(facts->sender == sha256_hex("a"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const std::uint8_t kind = *data++;
  const ByteSpan bytes = fuzz::input(data, --size);
  switch (kind % 5) {
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
    case 3:
      read_memory(scratch, bytes);
      break;
    case 4:
      read_kept(scratch, bytes);
      break;
    default: {
      const auto spent = monitor::Spent::open(scratch.write("spent.json", bytes), 3);
      fuzz::require(spent && spent->epsilon() >= 0.0 && spent->delta() >= 0.0);
    }
  }
  return 0;
}
