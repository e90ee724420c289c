// Who is handing in a report now: how much of a role's memory and threads all of them may take.
//
// A call takes a place before its first message is read, and another one when its header is known
// and its sender was checked. Both are bounded, for each sender and for all together; the second
// also in bytes. Who finds no place is told that the role is busy, and tries again. A sender that
// holds a place without end is put out when others need it, so that few cannot keep all away.
//
// Without a network, for several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "sotto/result.h"

namespace sotto::rpc {

/// What an error begins with that will pass by itself: the network says RESOURCE_EXHAUSTED.
inline constexpr const char* kBusy = "busy: ";

class Turnstile {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    std::size_t calls = 64;        // whose header is awaited: each may hold one message
    std::size_t calls_of_one = 2;  // of one certificate
    Clock::duration header_time = std::chrono::seconds(20);
    std::size_t reports = 1024;  // whose chunks are awaited; of each client one
    /// Of these reports together. One report is let in whatever its size.
    std::uint64_t bytes = std::uint64_t{512} << 20;
    Clock::duration report_time = std::chrono::seconds(600);
  };

  Turnstile() = default;
  explicit Turnstile(const Limits& limits) : limits_(limits) {}

  /// A call's places, given back when it goes.
  class Turn {
   public:
    /// `certificate` tells senders apart before they have said who they are; empty where there is
    /// none. `put_out` ends the call, from another thread, and must not wait.
    Turn(Turnstile& turnstile, std::string certificate, std::function<void()> put_out);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    /// An error: there is no place for this call.
    const Result<void>& entered() const { return entered_; }
    /// The header is known: from the place of a call to that of a report of so many bytes.
    Result<void> admit(const std::string& name, std::uint64_t bytes);

   private:
    friend class Turnstile;
    Turnstile& turnstile_;
    std::string certificate_;
    std::function<void()> put_out_;
    std::string name_;  // once it is admitted
    std::uint64_t bytes_ = 0;
    Clock::time_point since_;
    bool ended_ = false;  // put out already
    Result<void> entered_;
  };

 private:
  Result<void> enter(Turn& turn);
  Result<void> admit(Turn& turn, const std::string& name, std::uint64_t bytes);
  void leave(Turn& turn);
  /// Ends the oldest of these if its time is over.
  static void put_out_oldest(std::list<Turn*>& turns, Clock::duration time);

  Limits limits_;
  std::mutex mutex_;
  std::list<Turn*> calls_;    // oldest first
  std::list<Turn*> reports_;  // oldest first
  std::uint64_t bytes_ = 0;   // of all reports
};

}  // namespace sotto::rpc
