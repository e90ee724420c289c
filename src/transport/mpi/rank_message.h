// Messages between the ranks of a run: numbers, texts and lists of numbers one after the other, as
// they lie in memory. Both ends are the same program on the same kind of machine; a message that
// ends too early is a mistake in the program, and says so.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace sotto {

class MessageWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> MessageWriter& put(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> MessageWriter& put_list(std::span<const T> values) {
    put<std::uint64_t>(values.size());
    append(std::as_bytes(values));
    return *this;
  }
  MessageWriter& put_text(const std::string& text) {
    return put_list(std::span<const char>(text.data(), text.size()));
  }
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  void append(std::span<const std::byte> bytes) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + before, bytes.data(), bytes.size());
  }
  std::vector<std::byte> bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    take(&value, 1, sizeof value);
    return value;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> get_list() {
    std::vector<T> values(get_count(sizeof(T)));
    take(values.data(), values.size(), sizeof(T));
    return values;
  }
  /// How many things follow, each of which takes at least `least` bytes: no number that a message
  /// cannot hold makes anybody reserve memory.
  std::uint64_t get_count(std::size_t least) {
    const auto count = get<std::uint64_t>();
    if (count > (bytes_.size() - used_) / least) throw std::length_error("a rank's message");
    return count;
  }
  std::string get_text() {
    const std::vector<char> text = get_list<char>();
    return {text.begin(), text.end()};
  }

 private:
  void take(void* to, std::size_t count, std::size_t size) {
    if (count * size > bytes_.size() - used_) throw std::length_error("a rank's message");
    if (count > 0) std::memcpy(to, bytes_.data() + used_, count * size);
    used_ += count * size;
  }
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace sotto
