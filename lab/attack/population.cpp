#include "attack/population.h"

#include <algorithm>
#include <numeric>

#include "sotto/bits.h"

namespace sotto {
namespace {

std::vector<std::uint32_t> shuffled(std::size_t size, BitSource& bits) {
  std::vector<std::uint32_t> all(size);
  std::iota(all.begin(), all.end(), 0U);
  shuffle(std::span(all), bits);
  return all;
}

}  // namespace

Dataset draw_population(const DataSplit& data, std::size_t size, std::size_t known_members,
                        std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "attack.population");
  const auto drawn = [&](const Dataset& from, std::size_t count) {
    std::vector<std::uint32_t> all = shuffled(from.size(), bits);
    all.resize(count);
    std::sort(all.begin(), all.end());
    return select(from, all);
  };
  if (known_members == 0) return drawn(data.train, size);
  Dataset both = drawn(data.train, known_members);
  const Dataset others = drawn(data.test, size - known_members);
  both.labels.insert(both.labels.end(), others.labels.begin(), others.labels.end());
  std::visit(
      [&](auto& values) {
        const auto& more = std::get<std::decay_t<decltype(values)>>(others.values);
        values.insert(values.end(), more.begin(), more.end());
      },
      both.values);
  both.users.clear();
  return both;
}

std::vector<std::uint32_t> members_of(std::size_t size, std::size_t run, std::uint64_t seed) {
  BitSource bits = BitSource::from_seed(seed, "attack.members", {run / 2});
  const std::vector<std::uint32_t> all = shuffled(size, bits);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::vector<std::uint32_t> half =
      run % 2 == 0 ? std::vector(all.begin(), middle) : std::vector(middle, all.end());
  std::sort(half.begin(), half.end());
  return half;
}

}  // namespace sotto
