// --log, --metrics and --http: what a role of a federation shows of itself.
#pragma once

#include <memory>
#include <string>

#include "command.h"
#include "monitor/board.h"
#include "monitor/web.h"

namespace sotto::cli {

struct MonitorOptions {
  std::string log;
  std::string metrics;
  std::string http;

  /// `live`: whether the role has the live page.
  void add_to(CLI::App& command, bool live);
};

/// The board of a running role, with all that reads it.
class Monitor {
 public:
  static Result<std::unique_ptr<Monitor>> start(const MonitorOptions& options,
                                                monitor::Facts facts);

  monitor::Board& board() { return board_; }
  monitor::Sink sink() { return board_.sink(); }
  /// A line on standard error, where the log does not go there: what it says is an event too.
  void say(const std::string& text) const;
  /// The role is at work.
  void started(const std::string& text);
  /// The same, and a problem that is counted.
  void problem(const std::string& text);
  /// The role was asked to stop.
  void stopping(const std::string& text);
  /// The role's work is over: by itself, or because it was `stopped`; `kept` says what then lasts.
  void ended(bool stopped, const std::string& kept);

 private:
  void tell(monitor::What what, const std::string& text);
  Monitor(monitor::Facts facts, std::unique_ptr<monitor::Log> log, bool quiet)
      : board_(std::move(facts), std::move(log)), quiet_(quiet) {}
  monitor::Board board_;
  bool quiet_;
  std::unique_ptr<monitor::Web> metrics_;
  std::unique_ptr<monitor::Web> live_;
};

}  // namespace sotto::cli
