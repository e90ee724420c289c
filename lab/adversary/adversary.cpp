// The registry of adversaries and what their crafting phases share.
#include "adversary/adversary.h"

#include <numeric>

#include "base/nearest.h"
#include "base/text.h"

namespace sotto {
namespace {

const AdversaryEntry* const kEntries[] = {
#define SOTTO_ADVERSARY(name, file) &file##_adversary,
#include "adversary/adversaries.def"
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

Result<void> Adversary::craft(const Scene& scene, Trainer* trainer, BitSource& bits,
                              std::span<GradientPair> out) const {
  std::vector<std::uint32_t> samples;
  std::vector<std::int32_t> labels;
  std::vector<std::span<float>> gradients;
  const auto want = [&](const Example& wanted, std::vector<float>& gradient) {
    gradient.resize(scene.dimension);
    samples.push_back(wanted.sample);
    labels.push_back(wanted.label);
    gradients.emplace_back(gradient);
  };
  for (GradientPair& pair : out) {
    const ExamplePair chosen = choose(scene, bits);
    want(chosen.first, pair.first);
    pair.second.clear();
    if (chosen.second) want(*chosen.second, pair.second);
  }
  Dataset examples = select(*scene.data, samples);
  examples.labels = std::move(labels);
  std::iota(samples.begin(), samples.end(), 0U);
  return trainer->sample_gradients(examples, samples, scene.preprocess, gradients);
}

Example example(const Scene& scene, std::uint32_t sample) {
  return {sample, scene.data->labels[sample]};
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
