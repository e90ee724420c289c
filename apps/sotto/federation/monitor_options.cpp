#include "monitor_options.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace sotto::cli {

void MonitorOptions::add_to(CLI::App& command, bool live) {
  command
      .add_option("--log", log,
                  "append events as JSON, one a line; '-': to standard error, in the place of text")
      ->type_name("FILE|-");
  command
      .add_option("--metrics", metrics,
                  "/metrics for Prometheus and /healthz here; a PORT alone is 127.0.0.1's")
      ->type_name("HOST:PORT");
  if (!live) return;
  command
      .add_option("--http", http, "a live page for the browser here; a PORT alone is 127.0.0.1's")
      ->type_name("HOST:PORT");
}

Result<std::unique_ptr<Monitor>> Monitor::start(const MonitorOptions& options,
                                                monitor::Facts facts) {
  std::unique_ptr<monitor::Log> log;
  if (!options.log.empty()) {
    SOTTO_TRY(log, monitor::Log::open(options.log));
  }
  const std::string role = facts.role;
  std::unique_ptr<Monitor> all(new Monitor(std::move(facts), std::move(log), options.log == "-"));
  if (!options.metrics.empty()) {
    SOTTO_TRY(all->metrics_,
              monitor::Web::start(options.metrics, monitor::Pages::kMetrics, all->board_));
    all->say(fmt::format("metrics of the {} on http://{}/metrics", role, all->metrics_->address()));
  }
  if (!options.http.empty()) {
    SOTTO_TRY(all->live_, monitor::Web::start(options.http, monitor::Pages::kLive, all->board_));
    all->say(fmt::format("live page on http://{}/", all->live_->address()));
  }
  return all;
}

void Monitor::say(const std::string& text) const {
  if (!quiet_) fmt::print(stderr, "sotto: {}\n", for_terminal(text));
}

void Monitor::tell(monitor::What what, const std::string& text) {
  // It may quote another party, who must not write lines of its own.
  say(one_line(text));
  monitor::Event event{what};
  event.text = text;
  board_.note(event);
}

void Monitor::started(const std::string& text) { tell(monitor::What::kStarted, text); }

void Monitor::problem(const std::string& text) { tell(monitor::What::kProblem, text); }

void Monitor::stopping(const std::string& text) { tell(monitor::What::kStopping, text); }

void Monitor::ended(bool stopped, const std::string& kept) {
  if (stopped) {
    stopping("stopped; " + kept);
  } else {
    board_.note({monitor::What::kFinished});
  }
}

}  // namespace sotto::cli
