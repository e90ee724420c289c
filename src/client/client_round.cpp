#include "client/client_round.h"

namespace sotto::rpc {

Result<void> ClientRound::run(ReportMaker& maker, const TaskHeader& task,
                              std::span<const float> model) {
  // Once more, when everybody of the last round has come.
  if (compared_ && compared_->round != task.round) compare();
  const auto received = std::chrono::steady_clock::now();
  if (on_task) on_task(task.round);
  tell({monitor::What::kRoundBegan, task.round});
  const auto report = maker.report(task, model);
  // From here on the task is done with, whatever comes of it.
  done_round_ = task.round;
  done_attempt_ = task.attempt;
  if (!report && report.error().kind == ErrorKind::kRefused) return decline(task, report.error());
  if (!report) return tl::unexpected(report.error());
  state_ = State::kHeld;
  tell_spent(maker, task.round);
  const std::chrono::duration<double> spare(task.send_after_seconds);
  const auto begin =
      received + std::chrono::duration_cast<std::chrono::steady_clock::duration>(spare);
  auto sent = calls_.submit(task, {maker.contract(), maker.minimum(), *report, begin});
  compared_ = maker.contract();
  compare();
  if (sent) {
    state_ = State::kHandedIn;
    ++counts_.reports;
    tell({monitor::What::kReportAccepted, task.round});
    return maker.delivered();
  }
  if (sent.error().kind != ErrorKind::kRefused) return sent;
  // The report stays bound to its charge; the round went on without it.
  state_ = State::kTooLate;
  note("round " + std::to_string(task.round) + ": " + sent.error().message);
  ++counts_.late;
  tell(monitor::refusal(sent.error(), task.round));
  return {};
}

Result<void> ClientRound::decline(const TaskHeader& task, const Error& reason) {
  state_ = State::kDeclined;
  note(reason.message);
  ++counts_.declined;
  tell({monitor::What::kRoundDeclined, task.round});
  const auto told = calls_.decline(task);
  // A server that does not want to hear it goes on without this client all the same.
  return told || may_pass(told.error()) ? told : Result<void>();
}

void ClientRound::compare() {
  if (!compared_ || !compared_->shuffled || compared_->round == warned_round_) return;
  const auto all = calls_.compare(compared_->run, compared_->round);
  // A shuffler that is away now is asked again before the next round.
  if (!all) return;
  const std::string own = compared_->digest();
  std::uint64_t others = 0;
  std::uint64_t same = 0;
  for (const spool_files::Asked& asked : *all) {
    if (asked.contract == own) {
      same += asked.reports;
    } else if (asked.group == compared_->group) {
      others += asked.reports;
    }
  }
  if (others == 0) return;
  warned_round_ = compared_->round;
  ++counts_.asked_otherwise;
  const std::string text =
      "round " + std::to_string(compared_->round) + ": " + std::to_string(others) +
      " clients of this client's group came with another contract, and " + std::to_string(same) +
      " with the same: either they break the protocol, or the server asks "
      "clients for different things, to tell them apart";
  note("WARNING: " + text);
  monitor::Event event{monitor::What::kAskedOtherwise, compared_->round};
  event.reports = others;
  event.text = text;
  tell(event);
}

void ClientRound::tell_spent(const ReportMaker& maker, RoundId round) const {
  const auto spent = maker.spent();
  if (!spent) return;
  monitor::Event event{monitor::What::kBudgetSpent, round};
  event.epsilon = spent->epsilon;
  event.delta = spent->limits.renyi_order() > 0.0 ? spent->limits.delta : spent->delta_sum;
  tell(event);
}

}  // namespace sotto::rpc
