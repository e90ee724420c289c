// One round while the server collects it: who was asked, what has arrived, what is still awaited.
//
// A report counts whole or not at all. Without a shuffler a client hands in all its chunks at once,
// and they are counted when the last one has been checked. From a shuffler chunks come as one
// sequence for each group, in an order that it keeps when it has to begin again; the server takes
// each number of the sequence once, so that nothing is counted twice and no chunk has to be held.
// A chunk that does not open, or is not what its place asks for, is dropped: nobody can tell whose
// it was, and the others at its place stand by themselves.
//
//   state of a round  a task is given  all are heard  its time is over
//   waiting           -> running       -> complete    -> abandoned: nobody came to begin
//   running           running          -> complete    -> ended: with those who came
//   Complete, ended and abandoned are final: the coordinator drops the collection then.
//
//   state of a client  declines     its whole report (without a shuffler)
//   not asked          nothing      not counted
//   awaited            -> declined  -> counted
//   declined           nothing      not counted
//   counted            nothing      not counted again
//
//   state of a batch  none is had   so many are had   the next chunk           a chunk more
//   none              -> withheld   -> coming         refused                  refused
//   withheld          the same      refused           refused                  refused
//   coming            refused       the same, if it   coming, or -> whole      refused
//                                   goes on where     with the last
//                                   the last ended
//   whole             refused       the same          refused                  refused
//
// Not for several threads at once: the coordinator that owns it locks.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "shuffle/contract.h"
#include "shuffle/report_form.h"
#include "shuffle/ticket.h"
#include "sotto/federation.h"

namespace sotto::rpc {

Tag fresh_tag();
/// Tells a round that was begun anew from the same round before.
using Attempt = Tag;

enum class RoundState { kWaiting, kRunning, kComplete, kEnded, kAbandoned };
enum class ClientState { kNotAsked, kAwaited, kDeclined, kCounted };
enum class IntakeState { kNone, kWithheld, kComing, kWhole };

class Collection {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long a round may take.
  struct Times {
    Clock::duration wait{};   // for the first client
    Clock::duration round{};  // from then on
    Clock::duration grace{};  // after that, for the batch that a shuffler then closes
  };

  struct Group {
    std::set<std::uint32_t> asked;    // and not declined
    std::set<std::uint32_t> arrived;  // without a shuffler: whose report was counted
    std::shared_ptr<const ReportForm> form;
    std::string contract;          // digest of what the group is asked for
    std::vector<Ticket> declined;  // of those who will not report
    std::optional<std::uint64_t>
        batch;                      // reports that the shuffler has for us, once it has said so
    std::uint64_t taken = 0;        // chunks of its sequence
    std::uint64_t stream = 0;       // the call that delivers them now; an older one is too late
    std::uint64_t dropped = 0;      // of these, not what the round asked for
    std::uint64_t well_formed = 0;  // of those of the position that is being taken
    std::optional<std::uint64_t> fewest;   // well-formed ones at any position before it
    std::unordered_set<std::string> seen;  // chunks of the position that is being taken
    IntakeState intake() const;
    /// Nothing more will come of the batch.
    bool closed() const { return batch && taken == *batch * form->chunks(); }
    /// Reports that can hide one another: as many as were well-formed at the poorest position of
    /// which anything came. From the moment at which a batch begins to come it is 1 at least: what
    /// the server holds counts as seen.
    std::uint64_t opened() const;
  };

  static Result<Collection> begin(const RoundPlan& plan, std::span<const float> model,
                                  const Terms& terms, const TicketKey& ticket_key,
                                  const Times& times, Clock::time_point now = Clock::now());

  const RoundPlan& plan() const { return plan_; }
  const Attempt& attempt() const { return attempt_; }
  const std::vector<Group>& groups() const { return groups_; }
  const std::shared_ptr<const std::vector<float>>& model() const { return model_; }

  ClientState state_of(std::uint32_t client) const;
  /// The group that was asked for this client's report, if it has not declined.
  std::optional<std::size_t> group_of(std::uint32_t client) const;
  /// False where that changes nothing.
  bool decline(std::uint32_t client, const std::string& name);
  /// Of the round's tickets.
  const TicketKey& ticket_key() const { return ticket_key_; }
  Ticket ticket(std::size_t group, const std::string& name) const;
  /// Counts the client's report; false where it is not awaited in this group.
  bool arrived(std::uint32_t client, std::size_t group);

  Result<void> begin_batch(std::size_t group, std::uint64_t reports, std::uint64_t skip);
  /// The place of the sequence's next chunk, which the caller then opens and counts or drops.
  Result<std::size_t> next_chunk(std::size_t group) const;
  /// Whether this very chunk was in the batch before at its place: a box is never sealed twice.
  bool repeated(std::size_t group, std::span<const std::byte> sealed);
  /// The chunk that next_chunk() named is dealt with. Throws std::invalid_argument where there is
  /// none.
  void took_chunk(std::size_t group, bool counted);

  RoundState state(Clock::time_point now = Clock::now()) const;
  /// When its time is over if nothing comes.
  Clock::time_point end() const { return deadline_ ? *deadline_ + times_.grace : latest_start_; }
  /// The time begins to run when the first client has been given its task. False: it runs already.
  bool start_clock(Clock::time_point now = Clock::now());
  const std::optional<Clock::time_point>& deadline() const { return deadline_; }
  Clock::duration left() const;
  /// Whether every client that is awaited has been heard.
  bool complete() const;
  /// What came of it. `nobody`: why no batch came, where none did.
  std::vector<Delivery::Group> outcome(const std::string& nobody) const;

 private:
  RoundPlan plan_;
  Attempt attempt_{};
  Terms terms_;
  TicketKey ticket_key_{};
  std::shared_ptr<const std::vector<float>> model_;
  std::vector<Group> groups_;
  Times times_;
  Clock::time_point latest_start_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace sotto::rpc
