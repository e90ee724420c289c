// The server of a federation without its network: a Transport whose clients come by themselves.
//
// The run's loop calls collect() and waits; clients and the shuffler call the rest, from threads of
// the network. A round ends when everybody who was asked has been heard, or at its deadline with
// those who came.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "monitor/event.h"
#include "server/coordinator/collection.h"
#include "server/coordinator/opened.h"
#include "server/coordinator/roster.h"
#include "sotto/federation.h"

namespace sotto::rpc {

/// The answer to a client that joins.
struct Invitation {
  std::string recipe;  // TOML
  std::vector<std::string> settings;
  std::string recipe_hash;  // Recipe::fingerprint()
  PublicKey seal_key{};
  Tag run{};
  std::uint32_t clients = 0;
  bool shuffled = false;
  bool latency = false;  // chunks of a report come after random delays, in any order
  bool rehearsal = false;
  std::string authority;  // of the federation; empty: none. Clients know it themselves

  Terms terms() const { return {run, recipe_hash, shuffled, seal_key, authority}; }
  friend bool operator==(const Invitation&, const Invitation&) = default;
};

class Coordinator final : public Transport {
 public:
  struct Settings {
    Invitation invitation;      // its seal key is filled in
    std::uint32_t minimum = 1;  // reports of a batch
    /// Whether places differ in what their clients pay: nobody may then have two.
    bool places_differ = false;
    double round_seconds = 120.0;
    /// A round that no client has begun after so long ends the run.
    double wait_seconds = 600.0;
    /// Of random delays: clients begin to send so long after the round's first client began.
    double work_seconds = 0.0;
    /// A client that was not heard of for so long has left its place to whoever wants it; 0: for
    /// two rounds, and ten seconds at least.
    double place_seconds = 0.0;
  };
  Coordinator(Settings settings, const identity::SealKey& key, Roster roster);

  unsigned lanes() const noexcept override { return 1; }
  Result<Delivery> collect(const RoundPlan& plan, std::span<const float> model,
                           std::span<const EnvelopeSink> sinks) override;

  bool clients_moved() const override;

  /// No round will follow; waits until all clients have heard it, at most so long.
  void finish(double linger_seconds);
  /// Makes collect() end with an error: the program was asked to stop.
  void interrupt();
  bool interrupted() const;

  // ---- for clients
  struct Joined {
    std::uint32_t index = 0;
    const Invitation* invitation = nullptr;
  };
  /// kIo where a place may become free soon.
  Result<Joined> join(const std::string& name, std::optional<std::uint32_t> wanted);
  /// The client does not take part after all: its place is free.
  Result<void> leave(const std::string& name);

  struct Pulled {
    bool finished = false;
    RoundId round = 0;  // that the server is at
    struct Task {
      Attempt attempt{};
      std::size_t group = 0;
      std::vector<Part> parts;
      std::shared_ptr<const std::vector<float>> model;
      double deadline_seconds = 0.0;
      double send_after_seconds = 0.0;
      std::optional<Ticket> ticket;  // for the shuffler, where there is one
    };
    std::optional<Task> task;
  };
  Result<Pulled> pull(const std::string& name, RoundId done_round, const Attempt& done_attempt);
  Result<void> decline(const std::string& name, RoundId round, const Attempt& attempt);

  /// What a report of this client must look like now; nothing where its report is counted already.
  struct Awaited {
    RoundId round = 0;
    std::size_t group = 0;
    std::shared_ptr<const ReportForm> form;
    std::string contract;  // digest
  };
  Result<std::optional<Awaited>> awaited(const std::string& name, RoundId round);
  /// Opens a chunk of such a report and refuses what is not exactly what its place asks for.
  Result<Envelope> open_report(const Awaited& report, std::size_t position,
                               std::span<const std::byte> sealed) const;
  /// A whole report, all its chunks opened above. False where it was counted before.
  Result<bool> submit(const std::string& name, const Awaited& report,
                      std::span<const std::optional<Envelope>> opened);

  // ---- for the shuffler
  struct Open {
    bool finished = false;
    RoundId round = 0;  // 0: none
    Attempt attempt{};
    double seconds_left = 0.0;
    struct Group {
      std::uint64_t expected = 0;
      std::string contract;  // digest
      std::uint64_t skip = 0;
      bool closed = false;
      std::vector<Ticket> declined;
    };
    std::vector<Group> groups;
    TicketKey ticket_key{};
  };
  /// Asked by the shuffler, which learns from it too when all is finished.
  Open open();
  /// How many reports of the round the shuffler says it holds, for whoever watches: nothing else
  /// follows from it.
  void held(RoundId round, std::uint64_t reports);
  /// The number of the stream that begins: chunks of those before it are refused from now on.
  Result<std::uint64_t> begin_batch(RoundId round, const Attempt& attempt, std::size_t group,
                                    std::uint64_t reports, std::uint64_t skip);
  /// The next chunk of the group's sequence.
  Result<void> deliver(const Attempt& attempt, std::size_t group, std::uint64_t stream,
                       std::span<const std::byte> sealed);
  const Settings& settings() const { return settings_; }

  std::function<void(RoundId round, std::uint64_t done, std::uint64_t total)> on_report;
  /// Whatever people who run the server want to know; set before the first call.
  monitor::Sink on_event;
  void tell(const monitor::Event& event) const {
    if (on_event) on_event(event);
  }
  /// Where rounds are remembered whose reports are opened; set before the first call. Empty: what
  /// was opened of a round that a kill interrupts is forgotten.
  std::optional<OpenedRounds> opened_rounds;
  /// A round is about to be opened: nobody has been asked yet.
  std::function<void(const RoundPlan& plan, std::size_t weights)> on_begin;

 private:
  /// The place of a client that has been heard just now.
  Result<std::uint32_t> place_of(const std::string& name);
  Collection::Clock::duration silence_of(const std::string& name) const;
  Collection::Clock::duration longest_silence() const;
  bool is_gone(const std::string& name) const;
  /// At the end of a round: who was given its task and handed in nothing.
  void count_missed();
  /// What is kept of a client that has a place, when it has it no more.
  void forget(const std::string& name);
  /// Nobody reports for this place in the open round any more: whoever has it now was asked in the
  /// round before, or whoever had it was. `asked` is who: its ticket is void.
  void close_place(std::uint32_t place, const std::string& asked);
  bool asks(std::uint32_t place) const;
  bool is_open(RoundId round) const { return round_ && round_->plan().round == round; }
  void show_progress();
  /// Reports of this group are about to be opened.
  Result<void> remember_opened(RoundId round, std::size_t group);
  void tell_batch(RoundId round, const Collection::Group& group) const;
  /// What the sealed chunks of the open round have in common.
  identity::ChunkPlan chunk_plan(RoundId round, const ReportForm& form) const;

  Settings settings_;
  identity::SealKey key_;
  std::string task_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Roster roster_;
  std::optional<Collection> round_;
  std::span<const EnvelopeSink> sinks_;
  RoundId last_round_ = 0;
  bool finished_ = false;
  bool interrupted_ = false;
  std::set<std::string> told_;  // that it is finished, of those who have a place
  Collection::Clock::time_point started_ = Collection::Clock::now();
  std::map<std::string, Collection::Clock::time_point> heard_;
  std::map<std::string, RoundId> declined_;  // the last round that a client did not take part in
  std::map<std::string, unsigned> missed_;   // rounds in a row whose task a client left undone
  // Of the open round:
  std::set<std::string> tasked_;           // who was given a task
  std::set<std::uint32_t> closed_places_;  // that changed hands
  bool begun_before_ = false;              // a round, by this server
  bool shuffler_here_ = false;
  bool shuffler_told_ = false;
  std::uint64_t held_ = 0;
};

}  // namespace sotto::rpc
