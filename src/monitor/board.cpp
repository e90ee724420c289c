#include "monitor/board.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sotto::monitor {
namespace {

constexpr std::uint64_t kWrittenPerSecond = 10;
constexpr std::size_t kRecent = 60;
constexpr std::size_t kCurvePoints = 400;
constexpr std::size_t kRefusalNames = 32;  // on the page; further ones are counted together

/// What the page counts or shows elsewhere: a line for each would push all else off the page.
bool is_listed(What what) {
  return what != What::kReportAccepted && what != What::kReportRefused &&
         what != What::kClockStarted && what != What::kReportsHeld;
}

}  // namespace

Board::Board(Facts facts, std::unique_ptr<Log> log) : log_(std::move(log)) {
  state_.facts = std::move(facts);
  state_.started = unix_now();
  state_.changed = state_.started;
}

bool Board::admits(const Event& event, double now) {
  if (event.what != What::kReportRefused && event.what != What::kProblem) return true;
  if (std::floor(now) != window_) {
    window_ = std::floor(now);
    written_ = 0;
  }
  if (written_ < kWrittenPerSecond) {
    ++written_;
    return true;
  }
  ++suppressed_;
  return false;
}

void Board::note(const Event& event) {
  const std::scoped_lock lock(mutex_);
  const double now = unix_now();
  count(event);
  state_.changed = now;
  if (admits(event, now)) {
    // How many the shuffler holds changes with every report and is a number for the page alone.
    if (log_ && event.what != What::kReportsHeld &&
        !log_->write(log_line(now, state_.facts.role, event, suppressed_))) {
      ++state_.lost_lines;
    }
    suppressed_ = 0;
    if (is_listed(event.what)) {
      state_.recent.push_back({now, event});
      if (state_.recent.size() > kRecent) state_.recent.pop_front();
    }
  }
  ++version_;
  changed_.notify_all();
}

void Board::count(const Event& event) {
  switch (event.what) {
    case What::kStarted:
      break;
    case What::kResumed:
      state_.resumed = event.round;
      state_.round = std::max(state_.round, event.round);
      break;
    case What::kClientJoined:
      state_.joined = event.clients.value_or(state_.joined + 1);
      break;
    case What::kRoundBegan:
      state_.round = event.round;
      state_.asked = event.clients.value_or(0);
      state_.round_reports = 0;
      state_.held = 0;
      state_.deadline.reset();
      break;
    case What::kClockStarted:
      if (event.seconds) state_.deadline = unix_now() + *event.seconds;
      break;
    case What::kReportAccepted:
      ++state_.accepted;
      ++state_.round_reports;
      break;
    case What::kReportRefused:
      ++state_.refused[event.kind.value_or(ErrorKind::kRefused)];
      count_refusal(event);
      break;
    case What::kRoundDeclined:
      ++state_.declined;
      break;
    case What::kReportsHeld:
      if (event.round == state_.round) state_.held = event.reports.value_or(0);
      break;
    case What::kBatchPassed:
      ++state_.batches;
      state_.chunks += event.chunks.value_or(0);
      if (state_.facts.role == "server") {
        state_.accepted += event.reports.value_or(0);
        state_.round_reports += event.reports.value_or(0);
      }
      break;
    case What::kBatchWithheld:
      ++state_.batches_withheld;
      break;
    case What::kRoundEnded: {
      ++state_.rounds_ended;
      if (event.released.value_or(1) == 0) ++state_.rounds_withheld;
      state_.round = event.round;
      state_.deadline.reset();
      std::erase_if(state_.curve, [&](const Point& point) { return point.round >= event.round; });
      state_.curve.push_back({event.round, event.accuracy, event.loss, event.reports.value_or(0),
                              event.released.value_or(0)});
      break;
    }
    case What::kBudgetSpent:
      state_.epsilon = event.epsilon;
      state_.delta = event.delta.value_or(0.0);
      break;
    case What::kAskedOtherwise:  // told as a problem too
      break;
    case What::kProblem:
      ++state_.problems;
      break;
    case What::kStopping:
      state_.stopping = true;
      break;
    case What::kFinished:
      state_.finished = true;
      break;
  }
}

void Board::count_refusal(const Event& event) {
  std::string name = refusal_name(event);
  if (!state_.refusals.contains(name) && state_.refusals.size() >= kRefusalNames) name = "other";
  State::Refusals& same = state_.refusals[name];
  ++same.count;
  same.time = unix_now();
  same.last = event;
}

void Board::restore(std::vector<Point> earlier) {
  const std::scoped_lock lock(mutex_);
  state_.curve = std::move(earlier);
  ++version_;
  changed_.notify_all();
}

State Board::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

std::uint64_t Board::wait(std::uint64_t version, double seconds) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return closed_ || version_ > version; });
  return version_;
}

void Board::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool Board::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

nlohmann::ordered_json to_json(const State& state) {
  using Json = nlohmann::ordered_json;
  const auto maybe = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
  };
  Json curve = Json::array();
  const std::size_t step = state.curve.size() / kCurvePoints + 1;
  for (std::size_t i = 0; i < state.curve.size(); ++i) {
    // Every step-th counted from the end: the last one is always there.
    if ((state.curve.size() - 1 - i) % step != 0) continue;
    const Point& point = state.curve[i];
    curve.push_back({{"round", point.round},
                     {"accuracy", maybe(point.accuracy)},
                     {"loss", maybe(point.loss)},
                     {"reports", point.reports},
                     {"released", point.released}});
  }
  Json events = Json::array();
  for (const State::Entry& entry : state.recent) {
    Json one = {{"time", utc_text(entry.time)}};
    one.update(to_json(entry.event));
    events.push_back(std::move(one));
  }
  Json refusals = Json::array();
  for (const auto& [name, same] : state.refusals) {
    refusals.push_back({{"name", name},
                        {"count", same.count},
                        {"kind", name_of(same.last.kind.value_or(ErrorKind::kRefused))},
                        {"time", utc_text(same.time)},
                        {"text", same.last.text}});
  }
  Json promise = nullptr;
  if (state.facts.promise) {
    promise = {{"epsilon", maybe(state.facts.promise->epsilon)},
               {"delta", state.facts.promise->delta},
               {"vacuous", state.facts.promise->vacuous}};
  }
  Json left = nullptr;
  if (state.deadline) left = std::max(0.0, *state.deadline - unix_now());
  std::uint64_t refused = 0;
  for (const auto& [kind, count] : state.refused) refused += count;
  return {{"role", state.facts.role},
          {"title", state.facts.title},
          {"started", utc_text(state.started)},
          {"round", state.round},
          {"rounds", state.facts.rounds},
          {"clients", state.facts.clients},
          {"joined", state.joined},
          {"asked", state.asked},
          {"round_reports", state.round_reports},
          {"shuffled", state.facts.shuffled},
          {"held", state.held},
          {"seconds_left", std::move(left)},
          {"rehearsal", state.facts.rehearsal},
          {"promise", std::move(promise)},
          {"accepted", state.accepted},
          {"refused", refused},
          {"declined", state.declined},
          {"refusals", std::move(refusals)},
          {"problems", state.problems},
          {"epsilon", maybe(state.epsilon)},
          {"delta", state.delta},
          {"stopping", state.stopping},
          {"finished", state.finished},
          {"curve", std::move(curve)},
          {"events", std::move(events)}};
}

}  // namespace sotto::monitor
