#include "data/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/file.h"
#include "data/readers.h"

namespace sotto {
namespace {

constexpr int kWindowZlib = 15;
constexpr int kWindowGzip = 15 + 16;
constexpr std::size_t kGzipTail = 8;  // CRC-32 and length

// A zlib stream over input in memory. zlib counts in 32 bits, so both sides go in pieces.
class Inflater {
 public:
  Inflater(ByteSpan input, int window) : input_(input) {
    ready_ = inflateInit2(&stream_, window) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }

  /// Fills `out` as far as the stream goes and returns how much that was.
  Result<std::size_t> read(std::span<std::byte> out) {
    if (!ready_) return fail(ErrorKind::kInternal, "zlib cannot be initialised");
    std::size_t done = 0;
    while (!ended_) {
      const std::size_t room = std::min(out.size() - done, kPiece);
      const std::size_t offer = std::min(input_.size(), kPiece);
      // zlib takes a pointer to non-const and does not write through it.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input_.data()));
      stream_.avail_in = static_cast<uInt>(offer);
      stream_.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.data() + done : &overflow_);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t taken = offer - stream_.avail_in;
      const std::size_t given = room - stream_.avail_out;
      input_ = input_.subspan(taken);
      done += given;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status == Z_MEM_ERROR) {
        return fail(ErrorKind::kIo, "not enough memory to unpack");
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        const char* const why = stream_.msg != nullptr ? stream_.msg : "needs a dictionary";
        return corrupt("bad compressed data: " + std::string(why));
      } else if (taken == 0 && given == 0) {
        if (done == out.size()) break;
        return corrupt("compressed data is truncated");
      }
    }
    return done;
  }

  bool ended() const { return ended_; }
  ByteSpan rest() const { return input_; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 30;
  z_stream stream_{};
  ByteSpan input_;
  std::byte overflow_{};
  bool ready_ = false;
  bool ended_ = false;
};

// Appends one gzip member to `out` and returns what follows it.
Result<ByteSpan> append_member(ByteSpan packed, std::size_t limit, std::vector<std::byte>& out) {
  Inflater inflater(packed, kWindowGzip);
  // The length in the last four bytes is only a hint (it is modulo 2^32, and of the last member),
  // but taken as a first size it spares an honest file every reallocation.
  const std::size_t hint =
      packed.size() >= kGzipTail ? load_little(packed.data() + packed.size() - 4, 4) : 0;
  const std::size_t possible = std::min(limit - out.size(), most_inflated(packed.size()));
  std::size_t step = std::max<std::size_t>(std::min(hint, possible), 1 << 16);
  while (!inflater.ended()) {
    const std::size_t before = out.size();
    out.resize(before + std::min(step, limit - before));
    SOTTO_TRY(const std::size_t got, inflater.read(std::span(out).subspan(before)));
    out.resize(before + got);
    if (!inflater.ended() && out.size() == limit) {
      std::byte extra{};
      SOTTO_TRY(const std::size_t more, inflater.read(std::span(&extra, 1)));
      if (more > 0) {
        return corrupt("unpacks to more than the limit of " + std::to_string(limit) +
                       " bytes for a packed file of its size");
      }
    }
    step = std::max<std::size_t>(out.size() / 2, 1 << 16);
  }
  return inflater.rest();
}

}  // namespace

std::size_t most_inflated(std::size_t packed) {
  const std::size_t most = std::numeric_limits<std::size_t>::max() / kMostInflation;
  return std::min(packed, most) * kMostInflation;
}

std::size_t most_unpacked(std::size_t packed) {
  constexpr std::size_t kAlways = std::size_t{1} << 28;
  constexpr std::size_t kTimes = 100;
  return std::min(kMostDataBytes, std::max(kAlways, std::min(packed, kMostDataBytes) * kTimes));
}

std::string refuse_unpacking(std::size_t packed) {
  return "unpacks to more than the limit of " + std::to_string(most_unpacked(packed)) +
         " bytes for data packed in " + std::to_string(packed);
}

Result<std::vector<std::byte>> inflate_exactly(ByteSpan packed, std::size_t size) {
  if (size > most_inflated(packed.size())) {
    return corrupt("claims " + std::to_string(size) + " bytes, which " +
                   std::to_string(packed.size()) + " compressed bytes cannot hold");
  }
  Inflater inflater(packed, kWindowZlib);
  std::vector<std::byte> out(size);
  SOTTO_TRY(const std::size_t got, inflater.read(out));
  if (got < size) {
    return corrupt("unpacks to " + std::to_string(got) + " bytes, expected " +
                   std::to_string(size));
  }
  if (!inflater.ended()) {
    std::byte extra{};
    SOTTO_TRY(const std::size_t more, inflater.read(std::span(&extra, 1)));
    if (more > 0) return corrupt("unpacks to more than " + std::to_string(size) + " bytes");
  }
  if (!inflater.rest().empty()) {
    return corrupt(std::to_string(inflater.rest().size()) + " bytes after the compressed data");
  }
  return out;
}

Result<std::vector<std::byte>> inflate_start(ByteSpan packed, std::size_t size) {
  Inflater inflater(packed, kWindowZlib);
  std::vector<std::byte> out(size);
  SOTTO_TRY(const std::size_t got, inflater.read(out));
  if (got < size) return corrupt("compressed data ends after " + std::to_string(got) + " bytes");
  return out;
}

bool is_gzip(ByteSpan bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> gunzip(ByteSpan packed, std::size_t limit) {
  if (!is_gzip(packed)) return corrupt("not gzip data");
  std::vector<std::byte> out;
  while (is_gzip(packed)) {
    SOTTO_TRY(packed, append_member(packed, limit, out));
  }
  if (!packed.empty()) {
    return corrupt(std::to_string(packed.size()) + " bytes of garbage after the gzip data");
  }
  return out;
}

Result<std::vector<std::byte>> read_unpacked(const std::filesystem::path& file, std::size_t limit) {
  SOTTO_TRY(auto content, read_file(file, limit));
  if (!is_gzip(content)) return content;
  auto unpacked = gunzip(content, std::min(limit, most_unpacked(content.size())));
  if (!unpacked) return at(file.string(), unpacked.error());
  return unpacked;
}

}  // namespace sotto
