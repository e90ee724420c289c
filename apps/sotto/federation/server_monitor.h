// What a server shows of its training: the coordinator's events, the rounds of the run, what
// clients have spent, and what an earlier process with the same folder has done.
#pragma once

#include "monitor/spent.h"
#include "monitor_options.h"
#include "run/run_with_progress.h"
#include "server/coordinator/coordinator.h"

namespace sotto::cli {

class ServerMonitor {
 public:
  static Result<std::unique_ptr<ServerMonitor>> start(const MonitorOptions& options,
                                                      const ShownRun& run,
                                                      const std::filesystem::path& out,
                                                      bool rehearsal);
  void watch(rpc::Coordinator& coordinator, RunOptions& options);

  /// A line for people, if there is one.
  void say(const std::string& text) const {
    if (!text.empty()) monitor_->say(text);
  }
  void started(const std::string& text) { monitor_->started(text); }
  void stopping() { monitor_->stopping("asked to stop"); }
  void finished() { monitor_->board().note({monitor::What::kFinished, rounds_}); }
  /// Says how to go on; the exit code.
  int interrupted(bool json) const;

 private:
  ServerMonitor() = default;
  void note(const monitor::Event& event);

  std::unique_ptr<Monitor> monitor_;
  monitor::Spent spent_;
  std::filesystem::path out_;
  std::uint64_t rounds_ = 0;  // done
};

}  // namespace sotto::cli
