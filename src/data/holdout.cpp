#include "data/holdout.h"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

/// Where `held_out` has the wanted value.
std::vector<std::uint32_t> places(const std::vector<bool>& held_out, bool wanted) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < held_out.size(); ++i) {
    if (held_out[i] == wanted) found.push_back(i);
  }
  return found;
}

}  // namespace

Dataset select(const Dataset& data, std::span<const std::uint32_t> indices) {
  Dataset part;
  part.shape = data.shape;
  part.packed = data.packed;
  part.classes = data.classes;
  part.class_names = data.class_names;
  part.labels.reserve(indices.size());
  part.views = data.views;
  const std::size_t each = data.views * (data.packed ? data.packed_size() : data.shape.size());
  std::visit(
      [&](const auto& from) {
        std::decay_t<decltype(from)> values;
        values.reserve(indices.size() * each);
        for (const std::uint32_t i : indices) {
          const auto first = from.begin() + static_cast<std::ptrdiff_t>(i * each);
          values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(each));
          part.labels.push_back(data.labels[i]);
          if (!data.users.empty()) part.users.push_back(data.users[i]);
        }
        part.values = std::move(values);
      },
      data.values);
  return part;
}

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
  return {std::move(name), select(data, places(held_out, false)),
          select(data, places(held_out, true))};
}

}  // namespace sotto
