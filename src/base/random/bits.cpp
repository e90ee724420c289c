#include "sotto/bits.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "base/random/aes_ctr.h"
#include "base/random/uniform.h"

namespace sotto {
namespace {

void append_u64(std::string& text, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) text.push_back(static_cast<char>(value >> (8 * byte)));
}

/// Counts forks on the way from the first process to this one, from 1 on.
std::atomic<std::uint64_t> process_generation{1};

/// Memory that the kernel clears in a child, also where it is made without the C library; null
/// where the kernel cannot.
void* map_cleared_in_children(std::size_t size) {
#ifdef MADV_WIPEONFORK
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (::madvise(memory, size, MADV_WIPEONFORK) == 0) return memory;
  ::munmap(memory, size);
#endif
  return nullptr;
}

}  // namespace

struct BitSource::Cipher : AesCtr {
  using AesCtr::AesCtr;
};

namespace {

/// Mapping memory costs more than all else in a source, so each thread keeps one piece for its
/// next.
class SpareBlock {
 public:
  SpareBlock() = default;
  SpareBlock(const SpareBlock&) = delete;
  SpareBlock& operator=(const SpareBlock&) = delete;
  ~SpareBlock() { put(nullptr, 0); }
  void* take() { return std::exchange(memory_, nullptr); }
  /// Keeps this piece in the place of the one before.
  void put(void* memory, std::size_t size) {
    if (memory_ != nullptr) ::munmap(memory_, size_);
    memory_ = memory;
    size_ = size;
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

thread_local SpareBlock spare_block;

}  // namespace

void BitSource::FreeBlock::operator()(Block* block) const {
  if (mapped) {
    *block = {};
    spare_block.put(block, sizeof(Block));
  } else {
    delete block;
  }
}

BitSource::BitSource(const Key& key, Origin origin)
    : cipher_(std::make_unique<Cipher>(key)), origin_(origin) {
  if (origin == Origin::kSystem) {
    static const int kFollowed =
        ::pthread_atfork(nullptr, nullptr, [] { process_generation.fetch_add(1); });
    if (kFollowed != 0) die_without_randomness("forks cannot be followed");
    void* memory = spare_block.take();
    if (memory == nullptr) memory = map_cleared_in_children(sizeof(Block));
    block_ = {static_cast<Block*>(memory), FreeBlock{true}};
  }
  if (!block_) block_ = {new Block{}, FreeBlock{false}};
  block_->generation = process_generation.load(std::memory_order_relaxed);
}

BitSource::BitSource(BitSource&&) noexcept = default;
BitSource& BitSource::operator=(BitSource&&) noexcept = default;
BitSource::~BitSource() = default;

BitSource::Key BitSource::system_key() {
  Key key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    die_without_randomness("the system's random generator failed");
  }
  return key;
}

BitSource BitSource::from_system() { return {system_key(), Origin::kSystem}; }

void BitSource::follow_fork() {
  if (origin_ == Origin::kSeed) return;
  const std::uint64_t now = process_generation.load(std::memory_order_relaxed);
  if (block_->generation == now) return;
  cipher_ = std::make_unique<Cipher>(system_key());
  block_->generation = now;
}

BitSource BitSource::from_seed(std::uint64_t seed, std::string_view purpose,
                               std::initializer_list<std::uint64_t> path) {
  // Length-prefixed, so that no two (purpose, path) pairs give the same text.
  std::string text = "sotto.bits.v1";
  append_u64(text, seed);
  append_u64(text, purpose.size());
  text += purpose;
  append_u64(text, path.size());
  for (const std::uint64_t step : path) append_u64(text, step);
  Key key;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  return {key, Origin::kSeed};
}

void BitSource::fill(std::span<std::byte> out) {
  follow_fork();
  cipher_->fill(out);
}

void BitSource::refill() {
  // A kernel that clears nothing in a child: nothing is drawn ahead that both would have.
  const bool ahead = origin_ == Origin::kSeed || block_.get_deleter().mapped;
  const std::size_t count = ahead ? kWords : 1;
  fill(std::as_writable_bytes(std::span(block_->words).last(count)));
  block_->left = count;
}

std::uint64_t BitSource::below(std::uint64_t bound) { return uniform_below(*this, bound); }

double BitSource::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
  return radius * std::cos(2.0 * std::numbers::pi * unit());
}

}  // namespace sotto
