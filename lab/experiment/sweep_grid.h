// What `--vary section.key=a,b,c` means: a key of a recipe with the values it takes, and the grid
// of all combinations of several such keys.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/result.h"

namespace sotto {

struct Vary {
  std::string key;                  // "privacy.epsilon"
  std::vector<std::string> values;  // each as --set takes it: "3", "[0.1]", "srr"
};

/// Values are parted by commas outside brackets and quotes. An error names the key that does not
/// exist with the nearest that does, an empty value or one that is given twice.
Result<Vary> parse_vary(const std::string& text);

/// One value for each key, in the order of the keys.
using Combination = std::vector<std::pair<std::string, std::string>>;

/// All combinations; the last key runs fastest. One empty combination where there are no keys.
/// An error where a key is given twice, or there are more than `most` combinations.
Result<std::vector<Combination>> combinations(const std::vector<Vary>& keys,
                                              std::size_t most = 10'000);

/// "epsilon=3_seed=1": a folder name that tells the values, the same whatever other values are in
/// the grid. `all` are the grid's keys: two that end alike keep their sections.
std::string folder_name(const Combination& combination, const std::vector<Vary>& all);

/// "epsilon" for "privacy.epsilon", the whole key where another one ends alike.
std::string short_key(const std::string& key, const std::vector<Vary>& all);

}  // namespace sotto
