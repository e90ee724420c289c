// `sotto data check`: reads a set completely and says what is in it.
#include <fmt/format.h>

#include <cmath>

#include "base/sha256.h"
#include "data/known.h"
#include "data_actions.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::uint64_t> class_counts(const Dataset& data) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(data.classes), 0);
  for (const std::int32_t label : data.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

struct ChannelStatistics {
  std::vector<double> mean;
  std::vector<double> deviation;
};

/// Over all pixels of each channel, bytes scaled to [0, 1] as fill_batch does.
ChannelStatistics measure(const Dataset& data) {
  ChannelStatistics result;
  const std::size_t plane = std::size_t{data.shape.height} * data.shape.width;
  const auto count = static_cast<double>(plane * data.size());
  std::visit(
      [&](const auto& values) {
        const double scale = sizeof(values[0]) == 1 ? 1.0 / 255.0 : 1.0;
        for (std::size_t c = 0; c < data.shape.channels; ++c) {
          double sum = 0.0;
          double squares = 0.0;
          for (std::size_t i = 0; i < data.size(); ++i) {
            const auto* pixels = values.data() + i * data.shape.size() + c * plane;
            for (std::size_t p = 0; p < plane; ++p) {
              const double value = scale * static_cast<double>(pixels[p]);
              sum += value;
              squares += value * value;
            }
          }
          const double mean = sum / count;
          result.mean.push_back(mean);
          result.deviation.push_back(std::sqrt(std::max(0.0, squares / count - mean * mean)));
        }
      },
      data.values);
  return result;
}

/// The files of a known set, each of which must have the catalogued hash.
Result<Json> verify_files(const FoundSet& found) {
  Json files = Json::array();
  Progress progress("sha256");
  for (const DataFile& file : found.variant->files) {
    progress.update(files.size(), found.variant->files.size(), file.path);
    const std::filesystem::path path = found.folder / file.path;
    SOTTO_TRY(const std::string hash, sha256_file(path));
    if (hash != file.sha256) {
      return fail(ErrorKind::kCorrupt, path.string() + ": its sha256 is " + hash + ", not " +
                                           file.sha256 + "; delete it and fetch it again");
    }
    files.push_back({{"path", file.path}, {"sha256", hash}});
  }
  return files;
}

Json part_json(const Dataset& data) {
  return {{"samples", data.size()}, {"class_counts", class_counts(data)}};
}

void print_text(const DataSplit& split, const std::optional<FoundSet>& found,
                const ChannelStatistics& statistics) {
  fmt::print("{}\n", split.name);
  if (found) {
    fmt::print("  folder     {}\n  variant    {} ({} file{}, sha256 as catalogued)\n",
               found->folder.string(), found->variant->name, found->variant->files.size(),
               found->variant->files.size() == 1 ? "" : "s");
    if (!found->variant->caution.empty()) fmt::print("  caution    {}\n", found->variant->caution);
  }
  fmt::print("  shape      {}\n  samples    {} train, {} test\n", shape_text(split.train.shape),
             with_commas(split.train.size()), with_commas(split.test.size()));
  if (!split.train.users.empty()) {
    fmt::print("  users      {}\n",
               with_commas(std::uint64_t{*std::max_element(split.train.users.begin(),
                                                           split.train.users.end())} +
                           1));
  }
  fmt::print("  mean       {:.4f}\n  deviation  {:.4f}\n\n", fmt::join(statistics.mean, ", "),
             fmt::join(statistics.deviation, ", "));
  const auto names = class_labels(split.train);
  const auto train = class_counts(split.train);
  const auto test = class_counts(split.test);
  Table table({"class", "name", "train", "test"});
  for (std::size_t c = 0; c < names.size(); ++c) {
    table.add({std::to_string(c), names[c], with_commas(train[c]), with_commas(test[c])});
  }
  fmt::print("{}", table.text());
}

}  // namespace

Result<int> data_check(const DataCheckOptions& options) {
  std::optional<FoundSet> found;
  Json files = Json::array();
  if (const KnownSet* set = find_known_set(options.request.source);
      set != nullptr && !set->variants.empty()) {
    found = find_files(*set, options.request.folder);
    if (!found) return tl::unexpected(missing_set(*set, options.request.folder));
    SOTTO_TRY(files, verify_files(*found));
  }
  SOTTO_TRY(const DataSplit split, load_visibly(options.request));
  const ChannelStatistics statistics = measure(split.train);
  if (!options.json) {
    print_text(split, found, statistics);
    return 0;
  }
  const Json json = {
      {"name", split.name},
      {"folder", found ? Json(found->folder.string()) : nullptr},
      {"variant", found ? Json(found->variant->name) : nullptr},
      {"caution",
       found && !found->variant->caution.empty() ? Json(found->variant->caution) : nullptr},
      {"files", files},
      {"shape", shape_json(split.train.shape)},
      {"classes", split.train.classes},
      {"class_names", class_labels(split.train)},
      {"train", part_json(split.train)},
      {"test", part_json(split.test)},
      {"mean", statistics.mean},
      {"deviation", statistics.deviation}};
  fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace sotto::cli
