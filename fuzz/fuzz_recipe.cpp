// Recipes: a client reads the one that its server sends, with the settings that go with it. The
// text ends at the first zero byte; a setting stands between each and the next. What is read has a
// fingerprint, and the same text has the same one.
#include <nlohmann/json.hpp>

#include "server/attendance.h"
#include "sotto/recipe.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sotto;
  std::string_view rest = as_text(fuzz::input(data, size));
  const auto next = [&rest] {
    const std::string_view part = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  const std::string_view text = next();
  std::vector<std::string> settings;
  while (!rest.empty()) settings.emplace_back(next());
  const auto recipe = parse_recipe(text, "recipe.toml", settings);
  if (!recipe) {
    fuzz::require(!recipe.error().message.empty());
    return 0;
  }
  fuzz::require(recipe->federation.clients >= 0 && recipe->federation.rounds > 0);
  fuzz::require(!recipe->to_json().dump().empty());
  const auto again = parse_recipe(text, "recipe.toml", settings);
  fuzz::require(again && again->fingerprint() == recipe->fingerprint());
  static_cast<void>(check_remote(*recipe));
  return 0;
}
