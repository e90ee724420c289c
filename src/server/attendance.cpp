#include "server/attendance.h"

#include "plan/baselines.h"
#include "recipe/sample_form.h"

namespace sotto {
namespace {

/// The reports of a group whose clients were asked: those who vanish send none.
std::uint64_t sent_of(const Recipe& recipe, RoundId round, const ClientGroup& group) {
  const std::size_t asked = group.clients.size();
  if (recipe.aggregate.secure && asked < unmasking_threshold(recipe, asked)) return 0;
  return asked - vanishing(recipe, round, group.clients).size();
}

/// The size of a batch after the rules of shuffler and secure aggregation.
std::uint64_t released_of(std::uint64_t reports, std::size_t asked, const Recipe& recipe) {
  if (recipe.aggregate.secure && reports < unmasking_threshold(recipe, asked)) return 0;
  return reports >= static_cast<std::uint64_t>(recipe.shuffle.min_batch) ? reports : 0;
}

}  // namespace

Result<std::vector<GroupCount>> counts_of(const Recipe& recipe, const Attendance& counted,
                                          RoundId round, std::span<const ClientGroup> groups) {
  if (const auto it = counted.find(round); it != counted.end()) {
    if (it->second.size() == groups.size()) return it->second;
    return fail(ErrorKind::kCorrupt, "the checkpoint's round " + std::to_string(round) +
                                         " has other groups of clients than this recipe makes");
  }
  std::vector<GroupCount> counts;
  for (const ClientGroup& group : groups) {
    const std::uint64_t sent = sent_of(recipe, round, group);
    const std::uint64_t released = released_of(sent, group.clients.size(), recipe);
    counts.push_back({sent, released, released});
  }
  return counts;
}

Result<void> check_remote(const Recipe& recipe) {
  const auto refuse = [&](const char* key, const char* why) {
    return fail(ErrorKind::kUsage, recipe.file + ": " + key + " is for simulations: " + why);
  };
  if (learns_alone(recipe)) {
    return refuse("federation.mode = \"local\"", "clients that learn alone need no server");
  }
  if (recipe.aggregate.secure) {
    return refuse("aggregate.secure", "masks are not exchanged over a network yet");
  }
  if (recipe.encode.on()) {
    return refuse("[encode]", "records are randomized before the rounds by one process");
  }
  if (recipe.federation.selection == SelectionRule::kAnonymous) {
    return refuse("federation.selection = \"anonymous\"",
                  "a server that asks a client knows that it was picked");
  }
  if (recipe.data.by_user()) {
    return refuse("data.partition = \"users\"", "a server has to know how many clients there are");
  }
  if (!sample_form(recipe)) {
    return fail(ErrorKind::kUsage,
                recipe.file +
                    ": data.shape and data.classes are missing: a client whose network followed "
                    "from its own samples would tell what they lack; give [channels, height, "
                    "width] and the number of classes of " +
                    recipe.data.name);
  }
  if (recipe.ledger.limits()) {
    return refuse("[ledger] with limits", "a client of its own process has limits of its own");
  }
  if (recipe.train.keep_optimizer || recipe.bound.buffers == BufferRule::kLocal) {
    return refuse("train.keep_optimizer and bound.buffers = \"local\"",
                  "a client keeps nothing between rounds but its ledger");
  }
  return {};
}

}  // namespace sotto
