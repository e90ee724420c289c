#include "data/features.h"

#include <algorithm>
#include <array>

#include "base/machine.h"
#include "base/nearest.h"
#include "base/parallel.h"

namespace sotto {
namespace {

struct Entry {
  FeatureInfo info;
  std::unique_ptr<FeatureMap> (*make)(SampleShape input);
};

constexpr std::array<Entry, 4> kMaps = {{
    {{"none", "the samples themselves"}, nullptr},
    {{"gabor", "pooled magnitudes of Gabor filters, beside the pooled image"}, make_gabor_features},
    {{"scattering", "a scattering transform of second order in cells of 4x4 pixels"},
     make_scattering_features},
    {{"scattering-pooled", "the same, averaged over 2x2 cells"}, make_pooled_scattering_features},
}};

/// Pixels of a sample, over which features are computed; no image that fits a linear model has
/// more, and numbers of features stay far below what a size can hold.
constexpr std::size_t kMostPixels = std::size_t{1} << 22;

Result<const Entry*> find(std::string_view name) {
  std::vector<std::string> names;
  for (const Entry& entry : kMaps) {
    if (entry.info.name == name) return &entry;
    names.emplace_back(entry.info.name);
  }
  return fail(ErrorKind::kUsage, "data.features = \"" + std::string(name) + "\"; valid: " +
                                     join(names) + did_you_mean(std::string(name), names));
}

Result<std::unique_ptr<FeatureMap>> make_map(const Entry& entry, SampleShape input) {
  if (input.size() == 0 || input.size() > kMostPixels) {
    return fail(ErrorKind::kUsage, "data.features = \"" + std::string(entry.info.name) +
                                       "\": samples have " + std::to_string(input.size()) +
                                       " values; features are of 1 to " +
                                       std::to_string(kMostPixels));
  }
  return entry.make(input);
}

/// Features are kept as floats, many for each byte that was read: a set that the machine cannot
/// hold is an error at once, not a process that is killed in the midst of it.
Result<void> check_memory(const Entry& entry, const DataSplit& data, std::size_t features) {
  constexpr double kGigabyte = 1e9;
  const double there = static_cast<double>(memory_bytes()) / kGigabyte;
  const double needed = static_cast<double>(data.train.size() + data.test.size()) *
                        static_cast<double>(features * sizeof(float)) / kGigabyte;
  if (there == 0.0 || needed <= there) return {};
  return fail(ErrorKind::kUsage,
              data.name + ": data.features = \"" + std::string(entry.info.name) + "\" makes " +
                  std::to_string(features) + " features of each of " +
                  std::to_string(data.train.size() + data.test.size()) + " samples, " +
                  std::to_string(static_cast<std::uint64_t>(needed)) +
                  " GB, and this machine has " + std::to_string(static_cast<std::uint64_t>(there)) +
                  " GB of memory");
}

/// In blocks, so that a thread's buffer serves many samples.
Result<void> replace(Dataset& data, const Entry& entry, unsigned threads) {
  constexpr std::size_t kTogether = 64;
  const std::size_t blocks = (data.size() + kTogether - 1) / kTogether;
  std::vector<std::unique_ptr<FeatureMap>> maps;  // one for each thread
  for (std::size_t i = 0; i < std::max<std::size_t>(1, std::min<std::size_t>(threads, blocks));
       ++i) {
    SOTTO_TRY(maps.emplace_back(), make_map(entry, data.shape));
  }
  const std::size_t size = maps.front()->shape().size();
  std::vector<float> features(data.size() * size);
  SOTTO_CHECK(parallel_for(threads, blocks, [&](unsigned lane, std::size_t block) -> Result<void> {
    std::vector<float> sample(data.shape.size());
    const std::size_t end = std::min(data.size(), (block + 1) * kTogether);
    for (std::size_t i = block * kTogether; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      std::int64_t label = 0;
      fill_batch(data, std::span(&index, 1), {}, nullptr, sample, std::span(&label, 1));
      maps[lane]->compute(sample, std::span(features).subspan(i * size, size));
    }
    return {};
  }));
  data.shape = maps.front()->shape();
  data.values = std::move(features);
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
  if (entry->make == nullptr) return input;
  SOTTO_TRY(const auto map, make_map(*entry, input));
  return map->shape();
}

Result<void> apply_features(std::string_view name, DataSplit& data, unsigned threads) {
  SOTTO_TRY(const Entry* const entry, find(name));
  if (entry->make == nullptr) return {};
  SOTTO_TRY(const SampleShape shape, feature_shape(name, data.train.shape));
  SOTTO_CHECK(check_memory(*entry, data, shape.size()));
  SOTTO_CHECK(replace(data.train, *entry, threads));
  if (data.test.size() == 0) return {};
  return replace(data.test, *entry, threads);
}

}  // namespace sotto
