// How many calls a second of one sender are looked at.
//
// The library keeps no count of calls that were begun and reset at once: they wait in its queue,
// and a single connection can begin thousands in a second. So calls are counted in the transport,
// before any queue, thread or place; the turnstile behind it bounds those that are let in.
//
// Without a network, for several threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace sotto::rpc {

class CallRate {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    double a_second = 100.0;
    double at_once = 200.0;  // after a pause
    /// So many calls are turned away before the sender's connections are ended.
    std::size_t refusals = 1000;
    /// Beyond so many senders those that have paused are forgotten.
    std::size_t senders = 4096;
  };
  enum class Verdict { kLetIn, kTurnAway, kEndConnections };

  CallRate() = default;
  explicit CallRate(const Limits& limits) : limits_(limits) {}

  /// A call of this sender has begun.
  Verdict call(const std::string& sender, Clock::time_point now = Clock::now());
  std::size_t senders() const;

 private:
  /// A token bucket: a call takes one, and time fills it again.
  struct Bucket {
    double left = 0.0;
    Clock::time_point since;
    std::size_t refused = 0;
  };
  double left(const Bucket& bucket, Clock::time_point now) const;
  void forget_paused(Clock::time_point now);

  Limits limits_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  Clock::time_point forgot_;
};

}  // namespace sotto::rpc
