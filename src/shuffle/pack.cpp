// Report -> Envelope, and the bytes of an envelope.
//
// Encoding, little-endian: "SOT2" | round u32 | position u64 | count u64 | bits of a symbol u8 |
// length of mechanism id u8 | mechanism id | the symbols as PackedSymbols keeps them.
// A message is as long as its header says and not a byte longer, and every field has one form, so
// there is one encoding for each envelope.
#include <algorithm>
#include <cstring>

#include "shuffle/envelope_size.h"
#include "sotto/stages.h"

namespace sotto {
namespace {

constexpr char kMagic[4] = {'S', 'O', 'T', '2'};
constexpr std::size_t kHeaderBytes = 4 + 4 + 8 + 8 + 1 + 1;
constexpr std::uint64_t kMostSymbols = std::uint64_t{1} << 32;

template <class T>
void put(std::vector<std::byte>& out, T value, unsigned bytes = sizeof(T)) {
  const auto word = static_cast<std::uint64_t>(value);
  for (unsigned b = 0; b < bytes; ++b) out.push_back(static_cast<std::byte>(word >> (8 * b)));
}

std::uint64_t get(const std::byte* from, unsigned bytes) {
  std::uint64_t word = 0;
  for (unsigned b = 0; b < bytes; ++b) word |= std::to_integer<std::uint64_t>(from[b]) << (8 * b);
  return word;
}

}  // namespace

std::vector<Envelope> pack(Report report, RoundId round, std::size_t split) {
  const std::size_t total = report.symbols_.size();
  const std::size_t piece = split == 0 ? total : split;
  std::vector<Envelope> envelopes;
  for (std::size_t first = 0; first < total; first += piece) {
    Envelope envelope;
    envelope.round_ = round;
    envelope.mechanism_id_ = report.mechanism_id_;
    envelope.position_ = first;
    if (piece >= total) {
      envelope.symbols_ = std::move(report.symbols_);
    } else {
      std::vector<Symbol> part(std::min(piece, total - first));
      report.symbols_.read(first, part);
      envelope.symbols_ = PackedSymbols(part.size(), report.symbols_.bits());
      envelope.symbols_.write(0, part);
    }
    envelopes.push_back(std::move(envelope));
  }
  return envelopes;
}

std::size_t Envelope::serialized_size() const noexcept {
  return kHeaderBytes + mechanism_id_.size() + symbols_.bytes().size();
}

std::size_t envelope_bytes(std::size_t id_bytes, std::size_t symbols, unsigned bits) {
  return kHeaderBytes + id_bytes + PackedSymbols::bytes_for(symbols, bits);
}

std::vector<std::byte> Envelope::serialize() const {
  std::vector<std::byte> out;
  out.reserve(serialized_size());
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  put(out, round_);
  put(out, position_);
  put(out, std::uint64_t{symbols_.size()});
  put(out, symbols_.bits(), 1);
  put(out, mechanism_id_.size(), 1);
  for (const char c : mechanism_id_) out.push_back(static_cast<std::byte>(c));
  out.insert(out.end(), symbols_.bytes().begin(), symbols_.bytes().end());
  return out;
}

Result<Envelope> Envelope::parse(std::span<const std::byte> bytes) {
  const auto bad = [](const char* what) {
    return fail(ErrorKind::kCorrupt, std::string("envelope: ") + what);
  };
  if (bytes.size() < kHeaderBytes) return bad("shorter than its header");
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return bad("wrong magic");
  Envelope envelope;
  envelope.round_ = static_cast<RoundId>(get(bytes.data() + 4, 4));
  envelope.position_ = get(bytes.data() + 8, 8);
  const std::uint64_t count = get(bytes.data() + 16, 8);
  const auto bits = static_cast<unsigned>(get(bytes.data() + 24, 1));
  const std::size_t id_bytes = get(bytes.data() + 25, 1);
  if (!PackedSymbols::valid_width(bits)) return bad("symbol width not 1, 8, 16, ... 64 bits");
  if (count == 0 || count > kMostSymbols) return bad("symbol count out of range");
  if (envelope.position_ > kMostSymbols) return bad("position out of range");
  if (bytes.size() != kHeaderBytes + id_bytes + PackedSymbols::bytes_for(count, bits)) {
    return bad("length does not match its header");
  }
  const std::byte* const id = bytes.data() + kHeaderBytes;
  for (std::size_t i = 0; i < id_bytes; ++i) {
    const auto c = static_cast<char>(id[i]);
    if (c <= ' ' || c > '~') return bad("mechanism id is not printable");
    envelope.mechanism_id_ += c;
  }
  envelope.symbols_ = PackedSymbols(count, bits);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + id_bytes), bytes.end(),
            envelope.symbols_.bytes().begin());
  if (!envelope.symbols_.padding_is_zero()) return bad("bits beyond the last symbol");
  return envelope;
}

}  // namespace sotto
