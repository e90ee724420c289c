#include <algorithm>
#include <array>
#include <type_traits>

#include "base/machine.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "data/feature_map.h"

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
Result<void> check_memory(const Entry& entry, const DataSplit& data, std::size_t features,
                          std::size_t views) {
  constexpr double kGigabyte = 1e9;
  const double there = static_cast<double>(memory_bytes()) / kGigabyte;
  const std::size_t rows = data.train.size() * (1 + views) + data.test.size();
  const double needed =
      static_cast<double>(rows) * static_cast<double>(features * sizeof(float)) / kGigabyte;
  if (there == 0.0 || needed <= there) return {};
  const std::string viewed = views == 0 ? "" : " and " + std::to_string(views) + " views of them";
  return fail(ErrorKind::kUsage,
              data.name + ": data.features = \"" + std::string(entry.info.name) + "\" makes " +
                  std::to_string(features) + " features of each of " +
                  std::to_string(data.train.size() + data.test.size()) + " samples" + viewed +
                  ", " + std::to_string(static_cast<std::uint64_t>(needed)) +
                  " GB, and this machine has " + std::to_string(static_cast<std::uint64_t>(there)) +
                  " GB of memory");
}

/// What bytes are normalised by is for bytes: a view of them is bytes, too, the nearest ones.
template <class T>
T stored(float value) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return static_cast<std::uint8_t>(value * 255.0F + 0.5F);
  } else {
    return value;
  }
}

/// Each sample and its views, through the map of its thread if there are maps. In blocks, so that a
/// thread's buffers serve many samples.
template <class T>
Result<void> replace_as(Dataset& data, std::span<const std::unique_ptr<FeatureMap>> maps,
                        unsigned threads, std::span<const ImageView> views) {
  constexpr std::size_t kTogether = 64;
  const SampleShape shape = maps.empty() ? data.shape : maps.front()->shape();
  const std::size_t size = shape.size();
  std::vector<Preprocess> ways(1 + views.size());
  for (std::size_t v = 0; v < views.size(); ++v) ways[v + 1].view = views[v];
  std::vector<T> values(data.size() * ways.size() * size);
  const std::size_t blocks = (data.size() + kTogether - 1) / kTogether;
  SOTTO_CHECK(parallel_for(threads, blocks, [&](unsigned lane, std::size_t block) -> Result<void> {
    std::vector<float> sample(data.shape.size());
    std::vector<float> features(maps.empty() ? 0 : size);
    const std::span<const float> out = maps.empty() ? sample : features;
    const std::size_t end = std::min(data.size(), (block + 1) * kTogether);
    auto to = values.begin() + static_cast<std::ptrdiff_t>(block * kTogether * ways.size() * size);
    for (std::size_t i = block * kTogether; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      std::int64_t label = 0;
      for (const Preprocess& way : ways) {
        fill_batch(data, std::span(&index, 1), way, nullptr, sample, std::span(&label, 1));
        if (!maps.empty()) maps[lane]->compute(sample, features);
        to = std::ranges::transform(out, to, stored<T>).out;
      }
    }
    return {};
  }));
  data.values = std::move(values);
  data.shape = shape;
  data.views = static_cast<std::uint32_t>(ways.size());
  return {};
}

Result<void> replace(Dataset& data, const Entry& entry, unsigned threads,
                     std::span<const ImageView> views = {}) {
  const bool bytes = std::holds_alternative<std::vector<std::uint8_t>>(data.values);
  std::vector<std::unique_ptr<FeatureMap>> maps;  // one for each thread
  for (unsigned i = 0; entry.make != nullptr && i < std::max(1U, threads); ++i) {
    SOTTO_TRY(maps.emplace_back(), make_map(entry, data.shape));
  }
  return maps.empty() && bytes ? replace_as<std::uint8_t>(data, maps, threads, views)
                               : replace_as<float>(data, maps, threads, views);
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

Result<void> apply_features(std::string_view name, DataSplit& data, unsigned threads,
                            std::span<const ImageView> views) {
  SOTTO_TRY(const Entry* const entry, find(name));
  if (entry->make == nullptr && views.empty()) return {};
  const SampleShape input = data.train.shape;
  if (!views.empty() && (data.train.packed || input.height == 1 || input.width == 1)) {
    return fail(ErrorKind::kUsage, "data.views: samples of " + std::to_string(input.height) + "x" +
                                       std::to_string(input.width) + " are no images");
  }
  SOTTO_TRY(const SampleShape shape, feature_shape(name, input));
  SOTTO_CHECK(check_memory(*entry, data, shape.size(), views.size()));
  SOTTO_CHECK(replace(data.train, *entry, threads, views));
  if (entry->make == nullptr || data.test.size() == 0) return {};
  return replace(data.test, *entry, threads);
}

}  // namespace sotto
