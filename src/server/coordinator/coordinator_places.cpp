// Who has which place of the federation, and when it becomes another's.
//
// A place is free when its client leaves. It also goes to the next who wants it when its holder was
// not heard of for a while, declined the last round that it was asked for, or took the tasks of two
// rounds in a row and handed in nothing (which is seen only where there is no shuffler). A round
// counts one report of a client and one for a place: where a place changes hands after its holder,
// or whoever takes it, was given a task of the open round, nobody is asked in that place until the
// next.
#include <algorithm>
#include <chrono>

#include "server/coordinator/coordinator.h"

namespace sotto::rpc {
namespace {

Collection::Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Collection::Clock::duration>(
      std::chrono::duration<double>(count));
}

}  // namespace

Result<std::uint32_t> Coordinator::place_of(const std::string& name) {
  if (const auto place = roster_.find(name)) {
    heard_[name] = Collection::Clock::now();
    return *place;
  }
  return fail(ErrorKind::kRefused, "'" + name + "' has not joined, or its place became another's");
}

Collection::Clock::duration Coordinator::silence_of(const std::string& name) const {
  const auto heard = heard_.find(name);
  return Collection::Clock::now() - (heard == heard_.end() ? started_ : heard->second);
}

Collection::Clock::duration Coordinator::longest_silence() const {
  constexpr double kLeastSeconds = 10.0;
  if (settings_.place_seconds > 0.0) return seconds(settings_.place_seconds);
  return seconds(std::max(kLeastSeconds, 2.0 * settings_.round_seconds));
}

bool Coordinator::is_gone(const std::string& name) const {
  if (silence_of(name) > longest_silence()) return true;
  if (const auto missed = missed_.find(name); missed != missed_.end() && missed->second >= 2) {
    return true;
  }
  const auto declined = declined_.find(name);
  return declined != declined_.end() && declined->second + 1 >= last_round_;
}

void Coordinator::forget(const std::string& name) {
  heard_.erase(name);
  declined_.erase(name);
  missed_.erase(name);
  told_.erase(name);
}

bool Coordinator::clients_moved() const {
  const std::scoped_lock lock(mutex_);
  return roster_.moved();
}

/// Behind a shuffler nobody knows whose report is missing.
void Coordinator::count_missed() {
  if (settings_.invitation.shuffled) return;
  for (const Collection::Group& group : round_->groups()) {
    for (const std::uint32_t place : group.asked) {
      const auto name = roster_.holder(place);
      if (!name || !tasked_.contains(*name)) continue;
      if (group.arrived.contains(place)) {
        missed_.erase(*name);
      } else {
        ++missed_[*name];
      }
    }
  }
}

void Coordinator::close_place(std::uint32_t place, const std::string& asked) {
  if (!round_) return;
  closed_places_.insert(place);
  round_->decline(place, asked);
  changed_.notify_all();
}

bool Coordinator::asks(std::uint32_t place) const {
  return round_->group_of(place).has_value() && !closed_places_.contains(place);
}

Result<Coordinator::Joined> Coordinator::join(const std::string& name,
                                              std::optional<std::uint32_t> wanted) {
  const std::scoped_lock lock(mutex_);
  if (const auto place = roster_.find(name); place && (!wanted || *wanted == *place)) {
    heard_[name] = Collection::Clock::now();
    return Joined{*place, &settings_.invitation};
  }
  const auto first = roster_.first_place(name);
  if (settings_.places_differ && first && wanted.value_or(*first) != *first) {
    return fail(ErrorKind::kRefused,
                "'" + name + "' is client " + std::to_string(*first) +
                    " of this training, whose clients differ in what they pay");
  }
  if (settings_.places_differ && first) wanted = first;
  std::optional<std::string> before;  // who had the place
  const auto place = roster_.join(name, wanted, [&](const std::string& holder) {
    if (!is_gone(holder)) return false;
    before = holder;
    return true;
  });
  if (!place) {
    // Who has been silent for a while may turn out to be gone.
    constexpr double kLongPause = 10.0;
    const bool may_change = std::ranges::any_of(roster_.places(), [&](const auto& entry) {
      return entry.first != name && (!wanted || entry.second == *wanted) &&
             (silence_of(entry.first) > seconds(kLongPause) || missed_.contains(entry.first));
    });
    Error error = place.error();
    if (may_change && check_name(name) && !roster_.find(name)) {
      error.kind = ErrorKind::kIo;
      error.message += "; a place whose client is silent becomes free";
    }
    return tl::unexpected(error);
  }
  if (before) forget(*before);
  if (before && tasked_.contains(*before)) {
    close_place(*place, *before);
  } else if (tasked_.contains(name)) {
    close_place(*place, name);
  }
  heard_[name] = Collection::Clock::now();
  tell({monitor::What::kClientJoined, 0, roster_.size()});
  return Joined{*place, &settings_.invitation};
}

Result<void> Coordinator::leave(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto place = roster_.find(name);
  if (!place) return {};
  SOTTO_CHECK(roster_.leave(name));
  forget(name);
  if (tasked_.contains(name)) close_place(*place, name);
  return {};
}

}  // namespace sotto::rpc
