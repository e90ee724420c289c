#include "server/coordinator/turnstile.h"

#include <algorithm>

namespace sotto::rpc {
namespace {

/// Names that are remembered, most.
constexpr std::size_t kNames = 4096;

tl::unexpected<Error> refuse(const std::string& what) { return tl::unexpected(busy(what)); }

}  // namespace

Error busy(const std::string& what) { return {ErrorKind::kBusy, "busy: " + what + "; try again"}; }

Turnstile::Turn::Turn(Turnstile& turnstile, std::string certificate, std::function<void()> put_out)
    : turnstile_(turnstile),
      certificate_(std::move(certificate)),
      put_out_(std::move(put_out)),
      since_(Clock::now()),
      entered_(turnstile_.enter(*this)) {}

Turnstile::Turn::~Turn() { turnstile_.leave(*this); }

Result<void> Turnstile::Turn::admit(const std::string& name, const Load& load) {
  SOTTO_CHECK(entered_);
  return turnstile_.admit(*this, name, load);
}

void Turnstile::Turn::progress(std::uint64_t bytes) { turnstile_.progress(*this, bytes); }

Result<void> Turnstile::Turn::answer(const std::string& name) {
  SOTTO_CHECK(entered_);
  return turnstile_.answer(*this, name);
}

Result<void> Turnstile::enter(Turn& turn) {
  const std::scoped_lock lock(mutex_);
  // What they hold goes to nobody, and each of them has a thread.
  put_out(calls_, limits_.header_time);
  put_out(answers_, limits_.answer_time);
  if (calls_.size() >= limits_.calls) {
    return refuse(std::to_string(calls_.size()) + " calls have yet to say what they bring");
  }
  if (!turn.certificate_.empty()) {
    const auto same = [&](const Turn* other) { return other->certificate_ == turn.certificate_; };
    if (static_cast<std::size_t>(std::ranges::count_if(calls_, same)) >= limits_.calls_of_one) {
      return refuse("this client has " + std::to_string(limits_.calls_of_one) +
                    " calls that have yet to say what they bring");
    }
  }
  calls_.push_back(&turn);
  return {};
}

Result<void> Turnstile::admit(Turn& turn, const std::string& name, const Load& load) {
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  if (std::ranges::any_of(reports_, [&](const Turn* other) { return other->name_ == name; })) {
    return refuse("this client is handing in a report already");
  }
  forget(put_out_, now - limits_.behind_time);
  forget(turned_away_, now - limits_.attempt_time);
  if (comes_after_others(name)) {
    return refuse("this client was too slow; others come first");
  }
  if (reports_.size() >= limits_.reports ||
      (!reports_.empty() && bytes_ + load.bytes > limits_.bytes)) {
    put_out_late_reports(now);
    note(turned_away_, name, now);
    return refuse(std::to_string(reports_.size()) + " reports are being handed in");
  }
  turned_away_.erase(name);
  calls_.remove(&turn);
  turn.name_ = name;
  turn.load_ = load;
  turn.admitted_ = turn.since_ = now;
  bytes_ += load.bytes;
  reports_.push_back(&turn);
  return {};
}

void Turnstile::progress(Turn& turn, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  turn.received_ += bytes;
  turn.since_ = Clock::now();
}

Result<void> Turnstile::answer(Turn& turn, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  turn.since_ = Clock::now();
  if (std::ranges::find(answers_, &turn) != answers_.end()) return {};
  const auto same = [&](const Turn* other) { return other->name_ == name; };
  if (static_cast<std::size_t>(std::ranges::count_if(answers_, same)) >= limits_.answers_of_one) {
    return refuse("this client is reading " + std::to_string(limits_.answers_of_one) +
                  " answers already");
  }
  if (answers_.size() >= limits_.answers) {
    return refuse(std::to_string(answers_.size()) + " answers are being read");
  }
  calls_.remove(&turn);
  turn.name_ = name;
  answers_.push_back(&turn);
  return {};
}

void Turnstile::leave(Turn& turn) {
  const std::scoped_lock lock(mutex_);
  calls_.remove(&turn);
  answers_.remove(&turn);
  if (reports_.remove(&turn) > 0) bytes_ -= turn.load_.bytes;
}

void Turnstile::put_out(std::list<Turn*>& turns, Clock::duration time) {
  const auto end = Clock::now() - time;
  for (Turn* const turn : turns) {
    if (turn->since_ <= end) put_out(*turn);
  }
}

void Turnstile::put_out(Turn& turn) {
  if (turn.ended_) return;
  turn.ended_ = true;
  turn.put_out_();
}

bool Turnstile::is_late(const Turn& turn, Clock::time_point now) const {
  const Load& load = turn.load_;
  using Seconds = std::chrono::duration<double>;
  const auto fair = [&](double part) {
    return std::max<Seconds>(limits_.chunk_time, limits_.report_time * part) + load.delays;
  };
  const double chunk = 1.0 / static_cast<double>(std::max<std::size_t>(1, load.chunks));
  const double received = static_cast<double>(turn.received_) /
                          static_cast<double>(std::max<std::uint64_t>(1, load.bytes));
  // The chunk that is on its way has its part of the time, too.
  return now - turn.since_ >= fair(chunk) ||
         now - turn.admitted_ >= fair(std::min(1.0, received + chunk));
}

void Turnstile::put_out_late_reports(Clock::time_point now) {
  for (Turn* const turn : reports_) {
    if (turn->ended_ || !is_late(*turn, now)) continue;
    put_out(*turn);
    note(put_out_, turn->name_, now);
  }
}

bool Turnstile::comes_after_others(const std::string& name) const {
  return put_out_.contains(name) && std::ranges::any_of(turned_away_, [&](const auto& other) {
           return !put_out_.contains(other.first);
         });
}

void Turnstile::note(Times& times, const std::string& name, Clock::time_point now) {
  if (times.size() < kNames || times.contains(name)) times[name] = now;
}

void Turnstile::forget(Times& times, Clock::time_point before) {
  std::erase_if(times, [&](const auto& entry) { return entry.second <= before; });
}

}  // namespace sotto::rpc
