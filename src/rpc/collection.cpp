#include "rpc/collection.h"

#include <algorithm>

#include "sotto/bits.h"

namespace sotto::rpc {

Tag fresh_tag() {
  Tag tag{};
  BitSource::from_system().fill(tag);
  return tag;
}

Result<Collection> Collection::begin(const RoundPlan& plan, std::span<const float> model,
                                     bool shuffled) {
  Collection round;
  round.plan_ = plan;
  round.attempt_ = fresh_tag();
  round.shuffled_ = shuffled;
  round.model_ = std::make_shared<const std::vector<float>>(model.begin(), model.end());
  for (const ClientGroup& asked : plan.groups) {
    Group group;
    group.asked.insert(asked.clients.begin(), asked.clients.end());
    SOTTO_TRY(group.chunks, chunk_specs(asked.parts, plan.split));
    round.groups_.push_back(std::move(group));
  }
  return round;
}

std::optional<std::size_t> Collection::group_of(std::uint32_t client) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].asked.contains(client)) return i;
  }
  return std::nullopt;
}

void Collection::decline(std::uint32_t client) {
  for (Group& group : groups_) {
    if (!group.arrived.contains(client)) group.asked.erase(client);
  }
}

bool Collection::arrived(std::uint32_t client, std::size_t group) {
  return groups_[group].arrived.insert(client).second;
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
  return {};
}

Result<const ChunkSpec*> Collection::next_chunk(std::size_t index) {
  const Group& group = groups_[index];
  if (!group.batch || group.closed()) {
    return fail(ErrorKind::kRefused, "a chunk more than the batch has");
  }
  return &group.chunks[group.taken / *group.batch];
}

void Collection::took_chunk(std::size_t index, bool counted) {
  ++groups_[index].taken;
  groups_[index].refused += counted ? 0 : 1;
}

void Collection::start_clock(Clock::duration length) {
  if (!deadline_) deadline_ = Clock::now() + length;
}

Collection::Clock::duration Collection::left() const {
  if (!deadline_) return Clock::duration::max();
  return std::max(Clock::duration::zero(), *deadline_ - Clock::now());
}

bool Collection::complete() const {
  return std::ranges::all_of(groups_, [&](const Group& group) {
    if (group.asked.empty()) return true;
    return shuffled_ ? group.closed() : group.arrived.size() == group.asked.size();
  });
}

std::vector<Delivery::Group> Collection::outcome() const {
  std::vector<Delivery::Group> outcome;
  for (const Group& group : groups_) {
    if (!shuffled_) {
      outcome.push_back({group.arrived.size(), ""});
    } else if (!group.batch || *group.batch == 0) {
      outcome.push_back({0, "the shuffler had too few reports"});
    } else if (!group.closed()) {
      outcome.push_back({0, "the shuffler's batch did not arrive whole"});
    } else if (group.refused > 0) {
      // Which chunks belong together nobody can tell, so the rest of that report stays in the sums.
      outcome.push_back(
          {*group.batch, std::to_string(group.refused) +
                             " chunks of the batch are not what the round asked for"});
    } else {
      outcome.push_back({*group.batch, ""});
    }
  }
  return outcome;
}

}  // namespace sotto::rpc
