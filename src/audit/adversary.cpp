// The registry of adversaries and what their crafting phases share.
#include "audit/adversary.h"

#include <array>

#include "base/nearest.h"
#include "base/text.h"

namespace sotto {
namespace {

const AdversaryEntry* const kEntries[] = {
#define SOTTO_ADVERSARY(name, file) &file##_adversary,
#include "audit/adversaries.def"
#undef SOTTO_ADVERSARY
};

}  // namespace

std::span<const AdversaryEntry> adversaries() {
  static const std::vector<AdversaryEntry> all = [] {
    std::vector<AdversaryEntry> entries;
    for (const AdversaryEntry* const entry : kEntries) entries.push_back(*entry);
    return entries;
  }();
  return all;
}

Result<const AdversaryEntry*> find_adversary(std::string_view name) {
  std::vector<std::string> names;
  for (const AdversaryEntry& entry : adversaries()) {
    if (entry.info.name == name) return &entry;
    names.emplace_back(entry.info.name);
  }
  return fail(ErrorKind::kUsage, "unknown adversary '" + std::string(name) + "'" +
                                     did_you_mean(name, names) + "; valid: " + join(names));
}

std::uint64_t stream_of(const AdversaryEntry& entry) {
  std::uint64_t place = 0;
  for (const AdversaryEntry& other : adversaries()) {
    if (other.info.name == entry.info.name) break;
    ++place;
  }
  return place;
}

Dataset single(const Dataset& data, std::uint32_t index, std::optional<std::int32_t> label) {
  Dataset one = select(data, std::span(&index, 1));
  if (label) one.labels.front() = *label;
  return one;
}

Result<void> example_gradient(const Scene& scene, Trainer& trainer, const Dataset& one,
                              std::vector<float>& out) {
  constexpr std::array<std::uint32_t, 1> kOnly = {0};
  out.resize(scene.dimension);
  return trainer.gradient(one, kOnly, scene.preprocess, out);
}

Result<void> train_rounds(Scene& scene, std::span<const std::uint32_t> pool, std::uint64_t rounds,
                          BitSource bits) {
  if (rounds == 0) return {};
  SOTTO_TRY(const auto trainer, scene.factory->make());
  SOTTO_CHECK(trainer->load(scene.weights));
  std::vector<std::uint32_t> samples(rounds * scene.training.batch_size);
  for (std::uint32_t& sample : samples) sample = pool[bits.below(pool.size())];
  SOTTO_CHECK(
      trainer->train(*scene.data, samples, scene.preprocess, scene.training, std::move(bits)));
  return trainer->store(scene.weights);
}

std::uint32_t any_sample(const Scene& scene, BitSource& bits) {
  return static_cast<std::uint32_t>(bits.below(scene.data->size()));
}

}  // namespace sotto
