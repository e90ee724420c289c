#include "server/coordinator/turnstile.h"

#include <algorithm>

namespace sotto::rpc {
namespace {

tl::unexpected<Error> busy(const std::string& what) {
  return fail(ErrorKind::kIo, kBusy + what + "; try again");
}

}  // namespace

Turnstile::Turn::Turn(Turnstile& turnstile, std::string certificate, std::function<void()> put_out)
    : turnstile_(turnstile),
      certificate_(std::move(certificate)),
      put_out_(std::move(put_out)),
      since_(Clock::now()),
      entered_(turnstile_.enter(*this)) {}

Turnstile::Turn::~Turn() { turnstile_.leave(*this); }

Result<void> Turnstile::Turn::admit(const std::string& name, std::uint64_t bytes) {
  SOTTO_CHECK(entered_);
  return turnstile_.admit(*this, name, bytes);
}

Result<void> Turnstile::Turn::answer(const std::string& name) {
  SOTTO_CHECK(entered_);
  return turnstile_.answer(*this, name);
}

Result<void> Turnstile::enter(Turn& turn) {
  const std::scoped_lock lock(mutex_);
  // What they hold goes to nobody, and each of them has a thread.
  put_out(calls_, limits_.header_time, calls_.size());
  put_out(answers_, limits_.answer_time, answers_.size());
  if (calls_.size() >= limits_.calls) {
    return busy(std::to_string(calls_.size()) + " calls have yet to say what they bring");
  }
  if (!turn.certificate_.empty()) {
    const auto same = [&](const Turn* other) { return other->certificate_ == turn.certificate_; };
    if (static_cast<std::size_t>(std::ranges::count_if(calls_, same)) >= limits_.calls_of_one) {
      return busy("this client has " + std::to_string(limits_.calls_of_one) +
                  " calls that have yet to say what they bring");
    }
  }
  calls_.push_back(&turn);
  return {};
}

Result<void> Turnstile::admit(Turn& turn, const std::string& name, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::any_of(reports_, [&](const Turn* other) { return other->name_ == name; })) {
    return busy("this client is handing in a report already");
  }
  if (reports_.size() >= limits_.reports || (!reports_.empty() && bytes_ + bytes > limits_.bytes)) {
    put_out(reports_, limits_.report_time, 1);
    return busy(std::to_string(reports_.size()) + " reports are being handed in");
  }
  calls_.remove(&turn);
  turn.name_ = name;
  turn.bytes_ = bytes;
  turn.since_ = Clock::now();
  bytes_ += bytes;
  reports_.push_back(&turn);
  return {};
}

Result<void> Turnstile::answer(Turn& turn, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  turn.since_ = Clock::now();
  if (std::ranges::find(answers_, &turn) != answers_.end()) return {};
  const auto same = [&](const Turn* other) { return other->name_ == name; };
  if (static_cast<std::size_t>(std::ranges::count_if(answers_, same)) >= limits_.answers_of_one) {
    return busy("this client is reading " + std::to_string(limits_.answers_of_one) +
                " answers already");
  }
  if (answers_.size() >= limits_.answers) {
    return busy(std::to_string(answers_.size()) + " answers are being read");
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
  if (reports_.remove(&turn) > 0) bytes_ -= turn.bytes_;
}

void Turnstile::put_out(std::list<Turn*>& turns, Clock::duration time, std::size_t most) {
  const auto end = Clock::now() - time;
  for (Turn* const turn : turns) {
    if (most == 0) return;
    if (turn->ended_ || turn->since_ > end) continue;
    turn->ended_ = true;
    turn->put_out_();
    --most;
  }
}

}  // namespace sotto::rpc
