// `sotto data list`: the known sets, and where each is or how to get it.
#include <fmt/format.h>

#include "data/known.h"
#include "data_actions.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

std::string how_to_get(const KnownSet& set) {
  const std::string fetch = "sotto data fetch " + std::string(set.name);
  return has_address(variant_to_fetch(set)) ? fetch : fetch + " --mirror URL";
}

nlohmann::ordered_json entry(const KnownSet& set, const std::optional<FoundSet>& found) {
  nlohmann::ordered_json json = {
      {"name", set.name},       {"summary", set.summary},  {"shape", shape_json(set.shape)},
      {"classes", set.classes}, {"train", set.train_size}, {"test", set.test_size}};
  const bool generated = set.variants.empty();
  json["present"] = generated || found.has_value();
  json["folder"] = found ? nlohmann::ordered_json(found->folder.string()) : nullptr;
  json["variant"] = found ? nlohmann::ordered_json(found->variant->name) : nullptr;
  json["caution"] = found && !found->variant->caution.empty()
                        ? nlohmann::ordered_json(found->variant->caution)
                        : nullptr;
  json["get"] = generated || found ? nlohmann::ordered_json(nullptr)
                                   : nlohmann::ordered_json(how_to_get(set));
  return json;
}

}  // namespace

Result<int> data_list(const DataListOptions& options) {
  Table table({"name", "shape", "classes", "train", "test", "where"});
  nlohmann::ordered_json sets = nlohmann::ordered_json::array();
  for (const KnownSet& set : known_sets()) {
    const auto found = find_files(set, options.folder);
    sets.push_back(entry(set, found));
    std::string where = "built in";
    if (found) {
      where = found->folder.string();
      if (set.variants.size() > 1) where += fmt::format(" ({})", found->variant->name);
    } else if (!set.variants.empty()) {
      where = "not here; " + how_to_get(set);
    }
    table.add({std::string(set.name), shape_text(set.shape), std::to_string(set.classes),
               with_commas(set.train_size), with_commas(set.test_size), where});
  }
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"sets", sets}}.dump(2));
  } else {
    fmt::print("{}", table.text());
  }
  return 0;
}

}  // namespace sotto::cli
