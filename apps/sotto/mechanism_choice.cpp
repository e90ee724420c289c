#include "mechanism_choice.h"

#include "mechanism_options.h"

namespace sotto::cli {

Result<MechanismChoice> parse_choice(const std::string& text) {
  MechanismChoice choice;
  choice.text = text;
  const std::size_t colon = text.find(':');
  SOTTO_TRY(choice.info, find_mechanism(text.substr(0, colon)));
  if (colon == std::string::npos) return choice;
  std::size_t first = colon + 1;
  for (;;) {
    const std::size_t comma = text.find(',', first);
    const std::string part = text.substr(first, comma - first);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      return fail(ErrorKind::kUsage, "--mechanism '" + text + "': '" + part +
                                         "' must be KEY=VALUE, as in srr:epsilon=5,groups=10");
    }
    choice.settings.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    if (comma == std::string::npos) return choice;
    first = comma + 1;
  }
}

Result<Parameters> MechanismChoice::parameters() const {
  Parameters parameters;
  for (const auto& [key, value] : settings) {
    const auto number = parse_number(value);
    if (!number) {
      return fail(ErrorKind::kUsage,
                  "--mechanism '" + text + "': " + key + " must be a number, not '" + value + "'");
    }
    parameters[key] = *number;
  }
  return parameters;
}

std::vector<std::string> MechanismChoice::overrides() const {
  std::vector<std::string> all = {"privacy.mechanism=" + std::string(info->name)};
  for (const auto& [key, value] : settings) {
    all.push_back((key.find('.') == std::string::npos ? "privacy." : "") + key + '=' + value);
  }
  return all;
}

}  // namespace sotto::cli
