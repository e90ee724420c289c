#include "server/statistics_step.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "server/combine.h"
#include "sotto/features.h"

namespace sotto {
namespace {

/// The mean square of |decoded report - what it was made of|, of a vector that is short: it has the
/// noise of every coordinate but the first, which a short vector is rotated to.
double noise_of(const Mechanism& mechanism) {
  const std::size_t size = mechanism.outputs();
  const std::vector<float> zeros(size, 0.0F);
  return static_cast<double>(size) * mechanism.moments(zeros, size - 1).variance;
}

}  // namespace

void apply_statistics(const RoundPlan& plan, const CollectedRound& collected,
                      std::span<const RoundMetrics> before, const Layout& layout,
                      std::span<float> model) {
  const auto earlier = std::ranges::count_if(
      before, [](const RoundMetrics& metrics) { return metrics.released > 0; });
  const auto releases = static_cast<double>(earlier + 1);
  for (TensorMean& mean : combine(plan, collected, false)) {
    const float* const from = model.data() + layout.tensors()[mean.tensor].offset;
    for (std::size_t i = 0; i < mean.values.size(); ++i) {
      const auto old = static_cast<double>(from[i]);
      mean.values[i] = old + (mean.values[i] - old) / releases;
    }
    const double reports = static_cast<double>(collected.released()) * releases;
    const double noise = noise_of(*plan.groups.front().parts.front().mechanism) / reports;
    set_feature_mean(layout, mean.values, noise, model);
  }
}

Result<void> start_statistics(const Recipe& recipe, const RunOptions& options, const Layout& layout,
                              std::span<float> model) {
  if (recipe.statistics.mean != StatisticSource::kPublic) return {};
  constexpr std::size_t kTogether = 1024;  // samples whose features are in memory at a time
  DataRequest request;
  request.source = recipe.statistics.data;
  request.folder = options.data_folder;
  SOTTO_TRY(const DataSplit data, load_data(request));
  const std::size_t features = layout.tensors()[feature_tensors(layout).mean].size;
  SOTTO_TRY(const SampleShape shape, feature_shape(recipe.data.features, data.train.shape));
  if (shape.size() != features) {
    return fail(ErrorKind::kUsage, recipe.file + ": statistics.public = \"" +
                                       recipe.statistics.data + "\": its samples have " +
                                       std::to_string(shape.size()) + " features, and those of " +
                                       recipe.data.name + " have " + std::to_string(features) +
                                       "; a set of samples of the same shape is needed");
  }
  std::vector<double> mean(features, 0.0);
  for (std::size_t first = 0; first < data.train.size(); first += kTogether) {
    std::vector<std::uint32_t> some(std::min(kTogether, data.train.size() - first));
    std::iota(some.begin(), some.end(), static_cast<std::uint32_t>(first));
    DataSplit part{data.name, select(data.train, some), {}};
    part.test.shape = part.train.shape;
    SOTTO_CHECK(apply_features(recipe.data.features, part, thread_count(options.threads)));
    const auto& values = std::get<std::vector<float>>(part.train.values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      mean[i % features] += static_cast<double>(values[i]);
    }
  }
  for (double& value : mean) value /= static_cast<double>(data.train.size());
  set_feature_mean(layout, mean, 0.0, model);
  return {};
}

}  // namespace sotto
