// Ranks that are threads of a test: messages pass through queues in memory.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "sotto/ranks.h"

namespace sotto {

class ThreadRanks final : public Ranks {
 public:
  struct Post {
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<std::pair<unsigned, unsigned>, std::deque<std::vector<std::byte>>> boxes;
  };
  ThreadRanks(std::shared_ptr<Post> post, unsigned rank, unsigned size)
      : post_(std::move(post)), rank_(rank), size_(size) {}
  ~ThreadRanks() override {
    for (unsigned other = 1; leads() && other < size_; ++other) send(other, {});
  }
  ThreadRanks(const ThreadRanks&) = delete;
  ThreadRanks& operator=(const ThreadRanks&) = delete;

  unsigned rank() const noexcept override { return rank_; }
  unsigned size() const noexcept override { return size_; }
  void send(unsigned to, std::span<const std::byte> message) override {
    const std::scoped_lock lock(post_->mutex);
    post_->boxes[{rank_, to}].emplace_back(message.begin(), message.end());
    post_->arrived.notify_all();
  }
  std::vector<std::byte> receive(unsigned from) override {
    std::unique_lock lock(post_->mutex);
    auto& box = post_->boxes[{from, rank_}];
    post_->arrived.wait(lock, [&] { return !box.empty(); });
    std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    return message;
  }
  std::optional<std::vector<std::byte>> poll(unsigned from) override {
    {
      const std::scoped_lock lock(post_->mutex);
      if (post_->boxes[{from, rank_}].empty()) return std::nullopt;
    }
    return receive(from);
  }
  void broadcast(std::span<float> values) override {
    for (unsigned other = 1; leads() && other < size_; ++other) send(other, std::as_bytes(values));
    if (leads()) return;
    const std::vector<std::byte> message = receive(0);
    std::memcpy(values.data(), message.data(), message.size());
  }
  void add_up(std::span<std::int64_t> values) override {
    if (!leads()) return send(0, std::as_bytes(values));
    for (unsigned other = 1; other < size_; ++other) {
      const std::vector<std::byte> message = receive(other);
      std::vector<std::int64_t> theirs(message.size() / sizeof(std::int64_t));
      std::memcpy(theirs.data(), message.data(), message.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += theirs.at(i);
    }
  }

 private:
  std::shared_ptr<Post> post_;
  unsigned rank_;
  unsigned size_;
};

}  // namespace sotto
