#include "shuffle/report_form.h"

#include <algorithm>
#include <array>

#include "base/sha256.h"
#include "shuffle/envelope_size.h"

namespace sotto::rpc {
namespace {

constexpr std::size_t kLengthBytes = 8;

bool all_drawn(const PackedSymbols& packed, const ChunkSpec& spec) {
  if (packed.bits() == 1 && spec.smallest <= 0 && spec.largest >= 1) return true;
  std::array<Symbol, 2048> piece;
  for (std::size_t first = 0; first < packed.size(); first += piece.size()) {
    const std::span<Symbol> part(piece.data(), std::min(piece.size(), packed.size() - first));
    packed.read(first, part);
    if (!std::ranges::all_of(part,
                             [&](Symbol s) { return s >= spec.smallest && s <= spec.largest; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<ReportForm> ReportForm::make(std::span<const Part> parts, std::size_t split) {
  ReportForm form;
  for (const Part& part : parts) {
    const Mechanism& mechanism = *part.mechanism;
    const std::size_t total = mechanism.outputs();
    const std::size_t piece = split == 0 ? total : std::min(split, total);
    if (total == 0) return fail(ErrorKind::kInternal, "a mechanism without outputs");
    const std::size_t chunks = (total + piece - 1) / piece;
    const std::size_t envelope =
        envelope_bytes(mechanism.id().size(), piece, mechanism.symbol_bits());
    form.parts_.push_back({{std::string(mechanism.id()), 0, total, mechanism.symbol_bits(),
                            mechanism.smallest_symbol(), mechanism.largest_symbol()},
                           piece,
                           form.chunks_,
                           chunks});
    form.chunks_ += chunks;
    form.largest_envelope_ = std::max(form.largest_envelope_, envelope);
    if (form.sealed_bytes() > kLongestChunk || form.chunks_ > kMostChunks) {
      return fail(ErrorKind::kUsage,
                  "shuffle.split = " + std::to_string(split) + ": " + std::to_string(form.chunks_) +
                      " chunks of " + std::to_string(form.sealed_bytes()) +
                      " bytes; valid are chunks of at most " + std::to_string(kLongestChunk) +
                      " bytes and at most " + std::to_string(kMostChunks) + " of them");
    }
  }
  return form;
}

ChunkSpec ReportForm::chunk(std::size_t index) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const PartForm& form) { return index < form.first + form.chunks; });
  ChunkSpec spec = part->whole;
  spec.position = (index - part->first) * part->piece;
  spec.symbols = std::min<std::uint64_t>(part->piece, part->whole.symbols - spec.position);
  return spec;
}

std::string task_name(const std::string& recipe_hash, std::span<const std::byte> run) {
  return recipe_hash + ':' + sha256_hex(run);
}

Result<Envelope> open_chunk(std::span<const std::byte> sealed, const identity::ChunkPlan& plan,
                            const ChunkSpec& spec, const identity::SealKey& key) {
  SOTTO_TRY(Envelope envelope, identity::open_sealed(sealed, plan, key));
  const auto refuse = [](const char* what) {
    return fail(ErrorKind::kRefused, std::string("chunk: ") + what);
  };
  if (envelope.mechanism_id() != spec.mechanism_id) return refuse("of another mechanism");
  if (envelope.position() != spec.position || envelope.symbols().size() != spec.symbols ||
      envelope.symbols().bits() != spec.bits) {
    return refuse("of another place in the report");
  }
  if (!all_drawn(envelope.symbols(), spec)) {
    return refuse("a symbol that the mechanism cannot have drawn");
  }
  return envelope;
}

std::vector<std::byte> write_report(std::span<const Envelope> envelopes) {
  std::vector<std::byte> bytes;
  for (const Envelope& envelope : envelopes) {
    const std::vector<std::byte> content = envelope.serialize();
    for (std::size_t b = 0; b < kLengthBytes; ++b) {
      bytes.push_back(static_cast<std::byte>(std::uint64_t{content.size()} >> (8 * b)));
    }
    bytes.insert(bytes.end(), content.begin(), content.end());
  }
  return bytes;
}

Result<std::vector<Envelope>> read_report(std::span<const std::byte> bytes) {
  std::vector<Envelope> envelopes;
  while (!bytes.empty()) {
    if (bytes.size() < kLengthBytes) return fail(ErrorKind::kCorrupt, "report: truncated");
    std::uint64_t length = 0;
    for (std::size_t b = 0; b < kLengthBytes; ++b) {
      length |= std::to_integer<std::uint64_t>(bytes[b]) << (8 * b);
    }
    bytes = bytes.subspan(kLengthBytes);
    if (length > bytes.size()) return fail(ErrorKind::kCorrupt, "report: truncated");
    SOTTO_TRY(Envelope envelope, Envelope::parse(bytes.first(length)));
    envelopes.push_back(std::move(envelope));
    bytes = bytes.subspan(length);
  }
  return envelopes;
}

}  // namespace sotto::rpc
