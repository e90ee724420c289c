#include "sotto/sealed.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "identity/box.h"

namespace sotto::identity {
namespace {

constexpr unsigned char kVersion = 1;
constexpr std::size_t kTaskBytes = 16;
constexpr std::size_t kHeaderBytes = 1 + kTaskBytes + 4 + 8 + 4;
static_assert(kHeaderBytes + kBoxOverhead == kSealOverhead);

using TaskDigest = std::array<unsigned char, kTaskBytes>;

TaskDigest digest_of(std::string_view task) {
  TaskDigest digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(task.data()), task.size(), nullptr, 0);
  return digest;
}

template <class T>
unsigned char* put(unsigned char* out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    *out++ = static_cast<unsigned char>(value >> (8 * i));
  }
  return out;
}

template <class T>
const unsigned char* take(const unsigned char* in, T& value) {
  value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(T{*in++} << (8 * i));
  return in;
}

/// Plaintext, zeroed on destruction.
class Wiped {
 public:
  static Wiped zeros(std::size_t size) { return {std::make_unique<unsigned char[]>(size), size}; }
  /// For what is about to be overwritten whole.
  static Wiped unset(std::size_t size) {
    return {std::make_unique_for_overwrite<unsigned char[]>(size), size};
  }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { sodium_memzero(bytes_.get(), size_); }
  unsigned char* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }
  std::span<unsigned char> bytes() { return {bytes_.get(), size_}; }

 private:
  Wiped(std::unique_ptr<unsigned char[]> bytes, std::size_t size)
      : bytes_(std::move(bytes)), size_(size) {}
  std::unique_ptr<unsigned char[]> bytes_;
  std::size_t size_;
};

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorKind::kCorrupt, "sealed chunk: " + what);
}

Result<void> check_plan(const ChunkPlan& plan) {
  if (plan.largest_envelope > 0 && plan.largest_envelope <= kLargestSealed - kSealOverhead) {
    return {};
  }
  return fail(ErrorKind::kUsage, "sealed chunk: a plan whose largest envelope has " +
                                     std::to_string(plan.largest_envelope) +
                                     " bytes; valid: 1 to " +
                                     std::to_string(kLargestSealed - kSealOverhead));
}

}  // namespace

std::size_t largest_envelope(std::span<const Envelope> envelopes) {
  std::size_t largest = 0;
  for (const Envelope& envelope : envelopes) {
    largest = std::max(largest, envelope.serialized_size());
  }
  return largest;
}

Result<std::vector<std::byte>> seal(const Envelope& envelope, const ChunkPlan& plan,
                                    const PublicKey& server) {
  SOTTO_CHECK(check_plan(plan));
  if (envelope.round() != plan.round) {
    return fail(ErrorKind::kUsage, "sealed chunk: an envelope of round " +
                                       std::to_string(envelope.round()) + " in round " +
                                       std::to_string(plan.round));
  }
  const std::vector<std::byte> content = envelope.serialize();
  if (content.size() > plan.largest_envelope) {
    return fail(ErrorKind::kUsage,
                "sealed chunk: an envelope of " + std::to_string(content.size()) +
                    " bytes where the plan's largest has " + std::to_string(plan.largest_envelope));
  }
  Wiped plain = Wiped::zeros(kHeaderBytes + plan.largest_envelope);  // and so the padding
  unsigned char* out = plain.data();
  *out++ = kVersion;
  const TaskDigest task = digest_of(plan.task);
  out = std::copy(task.begin(), task.end(), out);
  out = put(out, envelope.round());
  out = put(out, envelope.position());
  out = put(out, static_cast<std::uint32_t>(content.size()));
  std::memcpy(out, content.data(), content.size());

  std::vector<std::byte> chunk(plan.sealed_bytes());
  if (!seal_box(plain.bytes(), server,
                {reinterpret_cast<unsigned char*>(chunk.data()), chunk.size()})) {
    return fail(ErrorKind::kRefused, "sealed chunk: the server's key is not a valid X25519 key");
  }
  return chunk;
}

Result<Envelope> open_sealed(std::span<const std::byte> chunk, const ChunkPlan& plan,
                             const SealKey& server) {
  SOTTO_CHECK(check_plan(plan));
  if (chunk.size() != plan.sealed_bytes()) {
    return corrupt(std::to_string(chunk.size()) + " bytes; every chunk of this round has " +
                   std::to_string(plan.sealed_bytes()));
  }
  Wiped plain = Wiped::unset(kHeaderBytes + plan.largest_envelope);
  if (!open_box({reinterpret_cast<const unsigned char*>(chunk.data()), chunk.size()}, server,
                plain.bytes())) {
    return corrupt("changed on its way, or not sealed for this server");
  }
  const unsigned char* in = plain.data();
  if (*in++ != kVersion) return corrupt("of another version than 1");
  const TaskDigest task = digest_of(plan.task);
  if (!std::equal(task.begin(), task.end(), in)) return corrupt("of another training");
  in += task.size();
  RoundId round = 0;
  std::uint64_t position = 0;
  std::uint32_t length = 0;
  in = take(in, round);
  in = take(in, position);
  in = take(in, length);
  if (round != plan.round) return corrupt("of another round");
  if (length > plan.largest_envelope) return corrupt("a length beyond its end");
  const unsigned char* const end = plain.data() + plain.size();
  if (std::any_of(in + length, end, [](unsigned char byte) { return byte != 0; })) {
    return corrupt("padding that is not zero");
  }
  SOTTO_TRY(Envelope envelope, Envelope::parse(std::as_bytes(std::span(in, length))));
  if (envelope.round() != round || envelope.position() != position) {
    return corrupt("an envelope of another round or position than its header says");
  }
  return envelope;
}

}  // namespace sotto::identity
