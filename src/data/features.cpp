#include "data/features.h"

#include <algorithm>
#include <array>
#include <type_traits>

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

std::unique_ptr<FeatureMap> make_map(const Entry& entry, SampleShape input) {
  return entry.make == nullptr ? nullptr : entry.make(input);
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

/// Each sample and its views, through the map if there is one. In blocks, so that a thread's
/// buffers serve many samples.
template <class T>
Result<void> replace_as(Dataset& data, const FeatureMap* map, unsigned threads,
                        std::span<const ImageView> views) {
  constexpr std::size_t kTogether = 64;
  const SampleShape shape = map == nullptr ? data.shape : map->shape();
  const std::size_t size = shape.size();
  std::vector<Preprocess> ways(1 + views.size());
  for (std::size_t v = 0; v < views.size(); ++v) ways[v + 1].view = views[v];
  std::vector<T> values(data.size() * ways.size() * size);
  const std::size_t blocks = (data.size() + kTogether - 1) / kTogether;
  SOTTO_CHECK(parallel_for(threads, blocks, [&](unsigned, std::size_t block) -> Result<void> {
    std::vector<float> sample(data.shape.size());
    std::vector<float> features(map == nullptr ? 0 : size);
    const std::span<const float> out = map == nullptr ? sample : features;
    const std::size_t end = std::min(data.size(), (block + 1) * kTogether);
    auto to = values.begin() + static_cast<std::ptrdiff_t>(block * kTogether * ways.size() * size);
    for (std::size_t i = block * kTogether; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      std::int64_t label = 0;
      for (const Preprocess& way : ways) {
        fill_batch(data, std::span(&index, 1), way, nullptr, sample, std::span(&label, 1));
        if (map != nullptr) map->compute(sample, features);
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

Result<void> replace(Dataset& data, const FeatureMap* map, unsigned threads,
                     std::span<const ImageView> views = {}) {
  const bool bytes = std::holds_alternative<std::vector<std::uint8_t>>(data.values);
  return map == nullptr && bytes ? replace_as<std::uint8_t>(data, map, threads, views)
                                 : replace_as<float>(data, map, threads, views);
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

Result<void> apply_features(std::string_view name, DataSplit& data, unsigned threads,
                            std::span<const ImageView> views) {
  SOTTO_TRY(const Entry* const entry, find(name));
  if (entry->make == nullptr && views.empty()) return {};
  const SampleShape input = data.train.shape;
  if (!views.empty() && (data.train.packed || input.height == 1 || input.width == 1)) {
    return fail(ErrorKind::kUsage, "data.views: samples of " + std::to_string(input.height) + "x" +
                                       std::to_string(input.width) + " are no images");
  }
  const std::unique_ptr<FeatureMap> map = make_map(*entry, input);
  SOTTO_CHECK(replace(data.train, map.get(), threads, views));
  if (entry->make == nullptr || data.test.size() == 0) return {};
  return replace(data.test, map.get(), threads);
}

}  // namespace sotto
