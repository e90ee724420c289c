// Who is in a call with a role now: how much of its memory and threads all of them may take.
//
// A call takes a place before anything of its request is read. When the request is there and its
// sender was checked, it leaves that place for another one, which depends on what is to follow: a
// report, or an answer that may be long. All are bounded, for each sender and for all together, the
// reports also in bytes. Who finds no place is told that the role is busy, and tries again. Who
// says nothing for too long, or does not read its answer, is put out; who is slow to hand in a
// report is when others need the place.
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
    std::size_t calls = 256;       // whose request is awaited
    std::size_t calls_of_one = 2;  // of one certificate
    Clock::duration header_time = std::chrono::seconds(20);
    std::size_t reports = 1024;  // whose chunks are awaited; of each client one
    /// Of these reports together. One report is let in whatever its size.
    std::uint64_t bytes = std::uint64_t{512} << 20;
    Clock::duration report_time = std::chrono::seconds(600);
    std::size_t answers = 512;       // that are being read
    std::size_t answers_of_one = 2;  // client
    /// Between two pieces of an answer.
    Clock::duration answer_time = std::chrono::seconds(60);
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
    /// The request is known: from the place of a call to that of an answer. Again at each piece.
    Result<void> answer(const std::string& name);

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
  Result<void> answer(Turn& turn, const std::string& name);
  /// Ends those whose time is over, `most` of them.
  static void put_out(std::list<Turn*>& turns, Clock::duration time, std::size_t most);

  Limits limits_;
  std::mutex mutex_;
  std::list<Turn*> calls_;    // oldest first
  std::list<Turn*> reports_;  // oldest first
  std::list<Turn*> answers_;
  std::uint64_t bytes_ = 0;  // of all reports
};

}  // namespace sotto::rpc
