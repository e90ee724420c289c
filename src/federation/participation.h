// How often each client took part: what a client's epsilon grows with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

class Participation {
 public:
  explicit Participation(std::size_t clients) : rounds_(clients, 0) {}

  void add(std::span<const std::uint32_t> clients) {
    for (const std::uint32_t client : clients) ++rounds_[client];
  }
  /// The most rounds that a single client took part in.
  std::uint64_t most() const { return rounds_.empty() ? 0 : *std::ranges::max_element(rounds_); }
  /// Whether all clients took part equally often.
  bool even() const { return rounds_.empty() || *std::ranges::min_element(rounds_) == most(); }

 private:
  std::vector<std::uint32_t> rounds_;
};

}  // namespace sotto
