#include "data/features.h"

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/parallel.h"

namespace sotto {
namespace {

struct Entry {
  FeatureInfo info;
  std::unique_ptr<FeatureMap> (*make)(SampleShape input);
};

constexpr std::array<Entry, 2> kMaps = {{
    {{"none", "the samples themselves"}, nullptr},
    {{"gabor", "pooled magnitudes of Gabor filters, beside the pooled image"}, make_gabor_features},
}};

Result<const Entry*> find(std::string_view name) {
  std::vector<std::string> names;
  for (const Entry& entry : kMaps) {
    if (entry.info.name == name) return &entry;
    names.emplace_back(entry.info.name);
  }
  return fail(ErrorKind::kUsage, "data.features = \"" + std::string(name) + "\"; valid: " +
                                     join(names) + did_you_mean(std::string(name), names));
}

/// In blocks, so that a thread's buffer serves many samples.
Result<void> replace(Dataset& data, const FeatureMap& map, unsigned threads) {
  constexpr std::size_t kTogether = 64;
  const std::size_t size = map.shape().size();
  std::vector<float> features(data.size() * size);
  const std::size_t blocks = (data.size() + kTogether - 1) / kTogether;
  SOTTO_CHECK(parallel_for(threads, blocks, [&](unsigned, std::size_t block) -> Result<void> {
    std::vector<float> sample(data.shape.size());
    const std::size_t end = std::min(data.size(), (block + 1) * kTogether);
    for (std::size_t i = block * kTogether; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      std::int64_t label = 0;
      fill_batch(data, std::span(&index, 1), {}, nullptr, sample, std::span(&label, 1));
      map.compute(sample, std::span(features).subspan(i * size, size));
    }
    return {};
  }));
  data.values = std::move(features);
  data.shape = map.shape();
  return {};
}

}  // namespace

std::vector<FeatureInfo> feature_maps() {
  std::vector<FeatureInfo> infos;
  for (const Entry& entry : kMaps) infos.push_back(entry.info);
  return infos;
}

Result<SampleShape> feature_shape(std::string_view name, SampleShape input) {
  SOTTO_TRY(const Entry* const entry, find(name));
  return entry->make == nullptr ? input : entry->make(input)->shape();
}

Result<void> apply_features(std::string_view name, DataSplit& data, unsigned threads) {
  SOTTO_TRY(const Entry* const entry, find(name));
  if (entry->make == nullptr) return {};
  const std::unique_ptr<FeatureMap> map = entry->make(data.train.shape);
  SOTTO_CHECK(replace(data.train, *map, threads));
  if (data.test.size() == 0) return {};
  return replace(data.test, *map, threads);
}

}  // namespace sotto
