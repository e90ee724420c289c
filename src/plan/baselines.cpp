#include "plan/baselines.h"

#include <algorithm>
#include <cmath>

#include "sotto/secure.h"

namespace sotto {

Result<void> check_baselines(const std::map<std::string, std::string>& given,
                             const Recipe& recipe) {
  const auto wrong = [&](const char* key, const std::string& what) {
    const auto it = given.find(key);
    const std::string& place = it == given.end() ? recipe.file : it->second;
    return fail(ErrorKind::kUsage, place + ": " + key + ": " + what);
  };
  const Recipe::Train& train = recipe.train;
  if (train.noise > 0.0 && train.clip == 0.0) {
    return wrong("train.noise", "noise is measured in clips; give train.clip too");
  }
  if (recipe.train.clip > 0.0 && recipe.bound.payload == Payload::kGradient) {
    return wrong("train.clip", "DP-SGD trains; with bound.payload = \"gradient\" nothing does");
  }
  const Recipe::Aggregate& aggregate = recipe.aggregate;
  for (const char* key : {"aggregate.threshold", "aggregate.dropout", "aggregate.honest"}) {
    if (given.contains(key) && !aggregate.secure) {
      return wrong(key, "belongs to secure aggregation; give aggregate.secure = true");
    }
  }
  if (aggregate.secure && recipe.shuffle.mode == ShuffleMode::kShuffler) {
    return wrong(
        "aggregate.secure",
        "masks of all clients cancel in one sum, and there is nothing to shuffle; keep one "
        "of aggregate.secure and shuffle.mode = \"shuffler\"");
  }
  if (aggregate.honest > 0 && train.noise == 0.0) {
    return wrong("aggregate.honest",
                 "divides the noise of DP-SGD; give train.clip and train.noise");
  }
  if (!learns_alone(recipe)) return {};
  if (recipe.federation.k > 0 || recipe.federation.fraction < 1.0) {
    return wrong(
        "federation.mode",
        "\"local\" sends nothing, so nobody is picked; leave federation.k and fraction out");
  }
  if (recipe.privacy.on() || aggregate.secure || recipe.shuffle.mode != ShuffleMode::kNone) {
    return wrong("federation.mode",
                 "\"local\" sends nothing that privacy.mechanism, aggregate.secure or shuffle.mode "
                 "could protect; leave them out");
  }
  if (recipe.ledger.limits()) {
    return wrong("federation.mode", "\"local\" spends nothing that a limit of [ledger] could meet");
  }
  return {};
}

void set_private(const Recipe& recipe, TrainOptions& options) {
  options.clip = recipe.train.clip;
  options.noise = recipe.train.noise;
  if (!is_hybrid(recipe)) return;
  options.noise /= std::sqrt(static_cast<double>(recipe.aggregate.honest));
  options.rounds_noise = false;
}

Result<void> check_trainer(const Recipe& recipe, const Layout& layout) {
  if (!trains_privately(recipe)) return {};
  if (const auto fits = check_private(layout); !fits) return at(recipe.file, fits.error());
  return {};
}

Result<void> check_trainer(const Recipe& recipe, const TrainerFactory& factory) {
  if (trains_privately(recipe) && !factory.trains_privately()) {
    return fail(ErrorKind::kUsage, recipe.file + ": train.clip: this trainer (" +
                                       factory.version() +
                                       ") does not clip the gradients of single samples");
  }
  return check_trainer(recipe, factory.layout());
}

std::uint32_t unmasking_threshold(const Recipe& recipe, std::size_t clients) {
  return std::max(secure::threshold_of(recipe.aggregate.threshold, clients),
                  static_cast<std::uint32_t>(recipe.aggregate.honest));
}

Result<void> check_secure(const Recipe& recipe, std::size_t per_round) {
  if (!recipe.aggregate.secure) return {};
  const std::uint32_t threshold = unmasking_threshold(recipe, per_round);
  if (per_round >= threshold) return {};
  return fail(ErrorKind::kUsage,
              recipe.file + ": aggregate.secure: a round has " + std::to_string(per_round) +
                  " clients and a sum is unmasked from " + std::to_string(threshold) +
                  " on (aggregate.threshold, aggregate.honest, and 2 at least), so nothing would "
                  "ever be released");
}

std::vector<std::uint32_t> vanishing(const Recipe& recipe, RoundId round,
                                     std::span<const std::uint32_t> clients) {
  std::vector<std::uint32_t> gone;
  if (recipe.aggregate.dropout == 0.0) return gone;
  const auto seed = static_cast<std::uint64_t>(recipe.federation.seed);
  for (const std::uint32_t client : clients) {
    BitSource bits = BitSource::from_seed(seed, "vanish", {round, client});
    if (bits.unit() < recipe.aggregate.dropout) gone.push_back(client);
  }
  return gone;
}

}  // namespace sotto
