// What a client does with a task, without a network: it makes the report or declines, hands the
// report in and notes what became of it.
//
//   of the task                              state after  what follows
//   its report is made, and taken            handed in    the ledger notes the delivery
//   its report is made, and refused          too late     the report stays bound to its charge
//   its report is made, and nobody answers   held         an error; asked again, it is sent again
//   the client declines it                   declined     the server learns it, not why
//   its report cannot be made                as before    an error
//
// The state before makes no difference: a task may follow on any. In every state but `none` the
// round is done with, and the next request for tasks says so to the server. What a round has cost,
// and which report it has, is the ledger's to know (client/participant.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/participant.h"
#include "monitor/event.h"
#include "shuffle/spool_files.h"

namespace sotto::rpc {

/// What is handed in for a task.
struct Handed {
  const Contract& contract;
  std::uint32_t minimum = 0;
  std::span<const Envelope> envelopes;
  std::chrono::steady_clock::time_point begin;  // where chunks have random delays: not before
};

/// The other roles, as a client's round sees them. A call returns when it has an answer or when
/// waiting for one is of no use any more.
class RoundCalls {
 public:
  virtual ~RoundCalls() = default;
  virtual Result<void> decline(const TaskHeader& task) = 0;
  /// kRefused: it will never be taken. Any other error: nobody answers.
  virtual Result<void> submit(const TaskHeader& task, const Handed& report) = 0;
  /// What the shuffler's clients were asked for in a round.
  virtual Result<std::vector<spool_files::Asked>> compare(const Tag& run, RoundId round) = 0;
};

class ClientRound {
 public:
  enum class State { kNone, kHandedIn, kTooLate, kHeld, kDeclined };
  struct Counts {
    std::uint64_t reports = 0;   // handed in
    std::uint64_t declined = 0;  // rounds
    std::uint64_t late = 0;      // reports that came when their round was over
    /// Rounds in which others of this client's group were asked for something else than it was.
    std::uint64_t asked_otherwise = 0;
  };

  explicit ClientRound(RoundCalls& calls) : calls_(calls) {}

  /// Does the task with what `maker` has agreed to.
  Result<void> run(ReportMaker& maker, const TaskHeader& task, std::span<const float> model);
  /// Looks whether others of the group were asked for the same in the last round that was handed in
  /// to a shuffler, and says so where they were not. It only warns: a single member could stop
  /// everybody otherwise.
  void compare();
  /// The task may be given once more: what became of it was decided under an older certificate.
  void forget_attempt() { done_attempt_ = {}; }

  State state() const { return state_; }
  const Counts& counts() const { return counts_; }
  /// The task that is done with, whatever came of it; round 0: none.
  RoundId done_round() const { return done_round_; }
  const Attempt& done_attempt() const { return done_attempt_; }

  std::function<void(RoundId round)> on_task;
  std::function<void(const std::string&)> on_note;
  monitor::Sink on_event;

 private:
  void note(const std::string& text) const {
    if (on_note) on_note(text);
  }
  void tell(const monitor::Event& event) const {
    if (on_event) on_event(event);
  }
  /// What the ledger says that this client has spent by now.
  void tell_spent(const ReportMaker& maker, RoundId round) const;
  Result<void> decline(const TaskHeader& task, const Error& reason);

  RoundCalls& calls_;
  State state_ = State::kNone;
  Counts counts_;
  RoundId done_round_ = 0;
  Attempt done_attempt_{};
  std::optional<Contract> compared_;  // of the last report that was handed in
  RoundId warned_round_ = 0;
};

}  // namespace sotto::rpc
