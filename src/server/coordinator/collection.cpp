#include "server/coordinator/collection.h"

#include <algorithm>
#include <stdexcept>

#include "sotto/bits.h"

namespace sotto::rpc {

Tag fresh_tag() {
  Tag tag{};
  BitSource::from_system().fill(tag);
  return tag;
}

Result<Collection> Collection::begin(const RoundPlan& plan, std::span<const float> model,
                                     const Terms& terms, const TicketKey& ticket_key,
                                     const Times& times, Clock::time_point now) {
  Collection round;
  round.times_ = times;
  round.latest_start_ = now + times.wait;
  round.plan_ = plan;
  round.attempt_ = fresh_tag();
  round.terms_ = terms;
  round.ticket_key_ = ticket_key;
  const std::string weights = model_digest(model);
  round.model_ = std::make_shared<const std::vector<float>>(model.begin(), model.end());
  for (const ClientGroup& asked : plan.groups) {
    Group group;
    group.asked.insert(asked.clients.begin(), asked.clients.end());
    SOTTO_TRY(ReportForm form, ReportForm::make(asked.parts, plan.split));
    group.form = std::make_shared<const ReportForm>(std::move(form));
    group.contract =
        make_contract(terms, plan.round, round.groups_.size(), asked.parts, *group.form, weights)
            .digest();
    round.groups_.push_back(std::move(group));
  }
  return round;
}

ClientState Collection::state_of(std::uint32_t client) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].arrived.contains(client)) return ClientState::kCounted;
    if (groups_[i].asked.contains(client)) return ClientState::kAwaited;
    const auto& all = plan_.groups[i].clients;
    if (std::ranges::find(all, client) != all.end()) return ClientState::kDeclined;
  }
  return ClientState::kNotAsked;
}

std::optional<std::size_t> Collection::group_of(std::uint32_t client) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].asked.contains(client)) return i;
  }
  return std::nullopt;
}

bool Collection::decline(std::uint32_t client, const std::string& name) {
  bool changed = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (group.arrived.contains(client) || group.asked.erase(client) == 0) continue;
    changed = true;
    if (terms_.shuffled) group.declined.push_back(ticket(i, name));
  }
  return changed;
}

Ticket Collection::ticket(std::size_t group, const std::string& name) const {
  return make_ticket(ticket_key_, terms_.run, plan_.round, group, sender_of(name));
}

bool Collection::arrived(std::uint32_t client, std::size_t group) {
  Group& wanted = groups_[group];
  return wanted.asked.contains(client) && wanted.arrived.insert(client).second;
}

Result<void> Collection::begin_batch(std::size_t index, std::uint64_t reports, std::uint64_t skip) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::kRefused,
                "batch of round " + std::to_string(plan_.round) + " refused: " + what);
  };
  if (index >= groups_.size()) return refuse("there is no group " + std::to_string(index));
  Group& group = groups_[index];
  if (group.batch && *group.batch != reports) return refuse("it had another size before");
  if (reports > plan_.groups[index].clients.size()) {
    return refuse("more reports than clients were asked");
  }
  if (skip != group.taken) return refuse("it does not go on where the last one ended");
  group.batch = reports;
  ++group.stream;
  return {};
}

Result<std::size_t> Collection::next_chunk(std::size_t index) const {
  const Group& group = groups_[index];
  if (group.intake() != IntakeState::kComing) {
    return fail(ErrorKind::kRefused, "a chunk more than the batch has");
  }
  return group.taken / *group.batch;
}

bool Collection::repeated(std::size_t index, std::span<const std::byte> sealed) {
  // The first bytes of a box are a public key that its maker drew for it alone.
  constexpr std::size_t kKeyBytes = 32;
  const auto key = sealed.first(std::min(kKeyBytes, sealed.size()));
  return !groups_[index].seen.emplace(reinterpret_cast<const char*>(key.data()), key.size()).second;
}

void Collection::took_chunk(std::size_t index, bool counted) {
  Group& group = groups_[index];
  if (group.intake() != IntakeState::kComing) {
    throw std::invalid_argument("a chunk that no batch has");
  }
  ++group.taken;
  group.dropped += counted ? 0 : 1;
  group.well_formed += counted ? 1 : 0;
  if (group.taken % *group.batch != 0) return;
  group.fewest = std::min(group.fewest.value_or(group.well_formed), group.well_formed);
  group.well_formed = 0;
  group.seen.clear();
}

IntakeState Collection::Group::intake() const {
  if (!batch) return IntakeState::kNone;
  if (*batch == 0) return IntakeState::kWithheld;
  return closed() ? IntakeState::kWhole : IntakeState::kComing;
}

std::uint64_t Collection::Group::opened() const {
  if (!batch || *batch == 0) return 0;
  std::uint64_t least = fewest.value_or(*batch);
  if (taken == 0 || taken % *batch != 0) least = std::min(least, well_formed);
  return std::max<std::uint64_t>(1, least);
}

RoundState Collection::state(Clock::time_point now) const {
  if (complete()) return RoundState::kComplete;
  if (deadline_) return now < end() ? RoundState::kRunning : RoundState::kEnded;
  return now < end() ? RoundState::kWaiting : RoundState::kAbandoned;
}

bool Collection::start_clock(Clock::time_point now) {
  if (deadline_) return false;
  deadline_ = now + times_.round;
  return true;
}

Collection::Clock::duration Collection::left() const {
  if (!deadline_) return Clock::duration::max();
  return std::max(Clock::duration::zero(), *deadline_ - Clock::now());
}

bool Collection::complete() const {
  return std::ranges::all_of(groups_, [&](const Group& group) {
    if (group.asked.empty()) return true;
    return terms_.shuffled ? group.closed() : group.arrived.size() == group.asked.size();
  });
}

std::vector<Delivery::Group> Collection::outcome(const std::string& nobody) const {
  std::vector<Delivery::Group> outcome;
  for (const Group& group : groups_) {
    if (!terms_.shuffled) {
      outcome.push_back({group.arrived.size(), "", 0, group.arrived.size()});
      continue;
    }
    switch (group.intake()) {
      case IntakeState::kNone:
        outcome.push_back({0, nobody, 0, 0});
        break;
      case IntakeState::kWithheld:
        outcome.push_back({0, "the shuffler had too few reports", 0, 0});
        break;
      case IntakeState::kComing:
        outcome.push_back(
            {0, "the shuffler's batch did not arrive whole", group.dropped, group.opened()});
        break;
      case IntakeState::kWhole:
        outcome.push_back({*group.batch, "", group.dropped, group.opened()});
        break;
    }
  }
  return outcome;
}

}  // namespace sotto::rpc
