#include "server_monitor.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "torch_trainer.h"

namespace sotto::cli {
namespace {

/// The rounds that the folder's metrics.jsonl remembers.
std::vector<monitor::Point> earlier_rounds(const std::filesystem::path& out) {
  std::vector<monitor::Point> points;
  const auto text = read_text(out / "metrics.jsonl");
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) break;  // a line that a kill cut short; its round is done again
    monitor::Point point;
    const auto number = [&](const char* key) -> std::optional<double> {
      const auto found = json.find(key);
      if (found == json.end() || !found->is_number()) return std::nullopt;
      return found->get<double>();
    };
    point.round = static_cast<std::uint64_t>(number("round").value_or(0.0));
    point.accuracy = number("accuracy");
    point.loss = number("loss");
    point.reports = static_cast<std::uint64_t>(number("reports").value_or(0.0));
    point.released = static_cast<std::uint64_t>(number("released").value_or(0.0));
    points.push_back(point);
  }
  return points;
}

/// What the recipe promises the clients that it promises least. Nothing where it cannot be planned:
/// the run itself then says why.
std::optional<monitor::Facts::Promise> promise_of(const ShownRun& run) {
  const auto plan = plan_privacy(run.recipe, run.options.data_folder, torch_trainer());
  if (!plan || plan->groups.empty()) return std::nullopt;
  const Claim* const claim = client_claim(worst_group(plan->groups).claims);
  if (claim == nullptr) return monitor::Facts::Promise{HUGE_VAL, 0.0, true};
  return monitor::Facts::Promise{claim->epsilon, claim->delta, claim->vacuous()};
}

}  // namespace

Result<std::unique_ptr<ServerMonitor>> ServerMonitor::start(const MonitorOptions& options,
                                                            const ShownRun& run,
                                                            const std::filesystem::path& out,
                                                            bool rehearsal) {
  std::unique_ptr<ServerMonitor> server(new ServerMonitor());
  server->out_ = out;
  monitor::Facts facts{"server", run.recipe.output.name,
                       static_cast<std::uint64_t>(run.recipe.federation.rounds),
                       static_cast<std::uint64_t>(run.recipe.federation.clients)};
  facts.shuffled = run.recipe.shuffle.mode == ShuffleMode::kShuffler;
  facts.rehearsal = rehearsal;
  if (!options.http.empty()) facts.promise = promise_of(run);
  SOTTO_TRY(server->monitor_, Monitor::start(options, facts));
  if (run.options.resume) {
    std::vector<monitor::Point> earlier = earlier_rounds(out);
    server->rounds_ = earlier.size();
    server->monitor_->board().restore(std::move(earlier));
    server->monitor_->board().note({monitor::What::kResumed, server->rounds_});
  }
  SOTTO_TRY(server->spent_, monitor::Spent::open(out / "spent.json", server->rounds_));
  return server;
}

void ServerMonitor::note(const monitor::Event& event) {
  monitor_->board().note(event);
  if (event.what != monitor::What::kRoundBegan) return;
  const auto kept = spent_.add(event.round, *event.epsilon, *event.delta);
  if (!kept) monitor_->problem(kept.error().message);
  monitor::Event spent{monitor::What::kBudgetSpent, event.round};
  spent.epsilon = spent_.epsilon();
  spent.delta = spent_.delta();
  monitor_->board().note(spent);
}

void ServerMonitor::watch(rpc::Coordinator& coordinator, RunOptions& options) {
  coordinator.on_event = [this](const monitor::Event& event) { note(event); };
  options.on_note = [this](const std::string& text) { monitor_->problem(text); };
  options.on_round = [this](const RoundMetrics& metrics) {
    rounds_ = metrics.round;
    monitor::Event event{monitor::What::kRoundEnded, metrics.round, metrics.clients,
                         metrics.reports, metrics.released};
    event.accuracy = metrics.accuracy;
    event.loss = metrics.loss;
    event.seconds = metrics.round_seconds;
    monitor_->board().note(event);
  };
}

int ServerMonitor::interrupted(bool json) const {
  if (json) {
    const nlohmann::json record = {
        {"status", "stopped"}, {"rounds_done", rounds_}, {"out", out_.string()}};
    fmt::print("{}\n", record.dump(2));
  } else {
    fmt::print("stopped after round {}; its state is in {}, and the same command goes on\n",
               rounds_, out_.string());
  }
  return 0;
}

}  // namespace sotto::cli
