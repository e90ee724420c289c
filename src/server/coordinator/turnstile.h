// Who is in a call with a role now: how much of its memory and threads all of them may take.
//
// A call takes a place before anything of its request is read. When the request is there and its
// sender was checked, it leaves that place for another one, which depends on what is to follow: a
// report, or an answer that may be long. All are bounded, for each sender and for all together, the
// reports also in bytes. Who finds no place gets the error kBusy, and tries again. Who
// says nothing for too long, or does not read its answer, is put out. So is who stalls or dawdles
// while it hands in a report, when others are turned away; for a while it then comes after them.
//
// Without a network, for several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "sotto/result.h"

namespace sotto::rpc {

/// The error of whoever is above a limit.
Error busy(const std::string& what);

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
    /// While others are turned away: for a whole report. Each of its chunks has its part of that,
    /// or this if it is longer.
    Clock::duration report_time = std::chrono::seconds(120);
    Clock::duration chunk_time = std::chrono::seconds(20);
    /// How long who was put out comes after others who want a place, and how long after its last
    /// attempt somebody is taken for one of them.
    Clock::duration behind_time = std::chrono::seconds(120);
    Clock::duration attempt_time = std::chrono::seconds(10);
    std::size_t answers = 512;       // that are being read
    std::size_t answers_of_one = 2;  // client
    /// Between two pieces of an answer.
    Clock::duration answer_time = std::chrono::seconds(60);
  };

  /// What a report is going to be.
  struct Load {
    std::uint64_t bytes = 0;
    std::size_t chunks = 1;
    Clock::duration delays{};  // how long chunks may wait by the rules of the round
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
    /// The header is known: from the place of a call to that of a report.
    Result<void> admit(const std::string& name, const Load& load);
    /// So many bytes of the report have come.
    void progress(std::uint64_t bytes);
    /// The request is known: from the place of a call to that of an answer. Again at each piece.
    Result<void> answer(const std::string& name);

   private:
    friend class Turnstile;
    Turnstile& turnstile_;
    std::string certificate_;
    std::function<void()> put_out_;
    std::string name_;  // once it is admitted
    Load load_;
    std::uint64_t received_ = 0;  // bytes of it
    Clock::time_point admitted_;  // as a report
    Clock::time_point since_;     // the last that was heard of it
    bool ended_ = false;          // put out already
    Result<void> entered_;
  };

 private:
  Result<void> enter(Turn& turn);
  Result<void> admit(Turn& turn, const std::string& name, const Load& load);
  void progress(Turn& turn, std::uint64_t bytes);
  void leave(Turn& turn);
  Result<void> answer(Turn& turn, const std::string& name);
  /// Ends those that were silent for so long.
  static void put_out(std::list<Turn*>& turns, Clock::duration time);
  static void put_out(Turn& turn);
  /// Whether a report keeps others waiting for longer than it may.
  bool is_late(const Turn& turn, Clock::time_point now) const;
  void put_out_late_reports(Clock::time_point now);
  /// Whether this client was put out lately, and others want its place.
  bool comes_after_others(const std::string& name) const;

  using Times = std::map<std::string, Clock::time_point>;  // by name
  /// Only those of the last while, so that none grows without end.
  static void note(Times& times, const std::string& name, Clock::time_point now);
  static void forget(Times& times, Clock::time_point before);

  Limits limits_;
  std::mutex mutex_;
  std::list<Turn*> calls_;    // oldest first
  std::list<Turn*> reports_;  // oldest first
  std::list<Turn*> answers_;
  std::uint64_t bytes_ = 0;  // of all reports
  Times put_out_;            // while it handed in a report
  Times turned_away_;        // and not admitted since
};

}  // namespace sotto::rpc
