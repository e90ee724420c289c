#include "data/holdout.h"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

Dataset take(const Dataset& data, const std::vector<bool>& held_out, bool wanted) {
  Dataset part;
  part.shape = data.shape;
  part.classes = data.classes;
  part.class_names = data.class_names;
  const auto count = static_cast<std::size_t>(std::count(held_out.begin(), held_out.end(), wanted));
  part.labels.reserve(count);
  std::visit(
      [&](const auto& from) {
        std::decay_t<decltype(from)> values;
        values.reserve(count * data.shape.size());
        for (std::size_t i = 0; i < data.size(); ++i) {
          if (held_out[i] != wanted) continue;
          const auto first = from.begin() + static_cast<std::ptrdiff_t>(i * data.shape.size());
          values.insert(values.end(), first,
                        first + static_cast<std::ptrdiff_t>(data.shape.size()));
          part.labels.push_back(data.labels[i]);
          if (!data.users.empty()) part.users.push_back(data.users[i]);
        }
        part.values = std::move(values);
      },
      data.values);
  return part;
}

}  // namespace

DataSplit hold_out(std::string name, Dataset data, double test_fraction, std::uint64_t seed) {
  // A user whose samples were all held out would be a client without data: users go first.
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t i = 0; i < data.size(); ++i) {
    const auto group =
        data.users.empty() ? static_cast<std::size_t>(data.labels[i]) : std::size_t{data.users[i]};
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(i);
  }
  BitSource bits = BitSource::from_seed(seed, "data.holdout");
  std::vector<bool> held_out(data.size(), false);
  for (std::vector<std::uint32_t>& group : groups) {
    if (group.empty()) continue;
    shuffle(std::span(group), bits);
    const auto wanted =
        static_cast<std::size_t>(test_fraction * static_cast<double>(group.size()) + 0.5);
    // A class that can spare a sample is tested; a user with few samples keeps them.
    const std::size_t least = data.users.empty() ? 1 : 0;
    const std::size_t count = std::min(std::max(wanted, least), group.size() - 1);
    for (std::size_t i = 0; i < count; ++i) held_out[group[i]] = true;
  }
  return {std::move(name), take(data, held_out, false), take(data, held_out, true)};
}

}  // namespace sotto
