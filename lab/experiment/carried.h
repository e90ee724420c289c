// Files that travel inside the program: recipes/*.toml and experiments/*.toml.
#pragma once

#include <span>
#include <string_view>

namespace sotto {

struct Carried {
  enum Kind { kFamily, kRecipe };
  Kind kind;
  std::string_view name;  // "srr-mnist", without folder and ending
  std::string_view text;
};

std::span<const Carried> carried_files();

}  // namespace sotto
