// The board: what the events of a role add up to. Metrics, health and the live page are read off
// it; the log gets every event as it comes.
//
// Refusals and problems can be caused from outside, as many as somebody likes: all are counted, and
// at most ten a second are written down.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "monitor/log.h"

namespace sotto::monitor {

/// What is known when a role starts.
struct Facts {
  std::string role;  // "server", "shuffler", "client"
  std::string title;
  std::uint64_t rounds = 0;   // planned; 0: this role does not know
  std::uint64_t clients = 0;  // of the federation
  bool shuffled = false;      // reports come from a shuffler, all at once
  bool rehearsal = false;     // noise from a seed that everybody knows
  /// What a client is promised over the whole training, where it is known.
  struct Promise {
    double epsilon = 0.0;
    double delta = 0.0;
    bool vacuous = false;
  };
  std::optional<Promise> promise = {};
};

struct Point {
  std::uint64_t round = 0;
  std::optional<double> accuracy;
  std::optional<double> loss;
  std::uint64_t reports = 0;
  std::uint64_t released = 0;
};

struct State {
  Facts facts;
  double started = 0.0;  // Unix time
  double changed = 0.0;
  std::uint64_t round = 0;  // that is collected, or was last
  std::uint64_t asked = 0;  // clients, in it
  std::uint64_t round_reports = 0;
  std::uint64_t held = 0;             // reports of it that the shuffler says it has
  std::optional<double> deadline;     // of it, in Unix time; nothing before a client has begun
  std::uint64_t joined = 0;           // clients
  std::uint64_t resumed = 0;          // after this round; 0: a fresh start
  std::uint64_t rounds_ended = 0;     // since the start, as all that follow
  std::uint64_t rounds_withheld = 0;  // of these, without a release
  std::uint64_t accepted = 0;
  std::map<ErrorKind, std::uint64_t> refused;
  /// The same by name, with the last of each.
  struct Refusals {
    std::uint64_t count = 0;
    double time = 0.0;
    Event last;
  };
  std::map<std::string, Refusals> refusals;
  std::uint64_t declined = 0;
  std::uint64_t batches = 0;
  std::uint64_t batches_withheld = 0;
  std::uint64_t chunks = 0;
  std::uint64_t problems = 0;
  std::uint64_t lost_lines = 0;   // of the log
  std::optional<double> epsilon;  // spent; nothing where nobody has said so
  double delta = 0.0;
  bool stopping = false;
  bool finished = false;
  std::vector<Point> curve;  // by round
  struct Entry {
    double time = 0.0;
    Event event;
  };
  std::deque<Entry> recent;  // newest last
};

class Board {
 public:
  explicit Board(Facts facts, std::unique_ptr<Log> log = nullptr);

  void note(const Event& event);
  Sink sink() {
    return [this](const Event& event) { note(event); };
  }
  /// Rounds that an earlier process has done.
  void restore(std::vector<Point> earlier);

  State state() const;
  /// Blocks until there is something newer than `version`, at most so long; the newest version.
  std::uint64_t wait(std::uint64_t version, double seconds) const;
  /// Ends all waiting, for good.
  void close();
  bool closed() const;

 private:
  void count(const Event& event);
  void count_refusal(const Event& event);
  /// Whether the event is to be written down; counts those that are not.
  bool admits(const Event& event, double now);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::unique_ptr<Log> log_;
  State state_;
  std::uint64_t version_ = 1;
  bool closed_ = false;
  double window_ = 0.0;  // the second that `written_` counts in
  std::uint64_t written_ = 0;
  std::uint64_t suppressed_ = 0;
};

/// The state as the live page reads it: long curves thinned to a few hundred points.
nlohmann::ordered_json to_json(const State& state);

}  // namespace sotto::monitor
