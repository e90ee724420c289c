// The door from Bounded to Report, and the registry.
#include "sotto/mechanism.h"

#include <array>

#include "base/nearest.h"
#include "mechanism/none.h"

namespace sotto {

Report Mechanism::perturb(const Bounded& input, BitSource& bits) const {
  std::vector<Symbol> symbols(input.values().size());
  sample(input.values(), bits, symbols);
  return {std::string(id()), symbol_bytes(), std::move(symbols)};
}

std::span<const MechanismInfo> mechanisms() {
#define SOTTO_MECHANISM(name, type, summary) MechanismInfo{name, summary},
  static constexpr std::array kAll = {
#include "mechanism/mechanisms.def"
  };
#undef SOTTO_MECHANISM
  return kAll;
}

Result<std::unique_ptr<Mechanism>> make_mechanism(std::string_view name, Domain domain) {
#define SOTTO_MECHANISM(mechanism_name, type, summary) \
  if (name == (mechanism_name)) return type::make(std::move(domain));
#include "mechanism/mechanisms.def"
#undef SOTTO_MECHANISM
  std::vector<std::string> names;
  for (const MechanismInfo& info : mechanisms()) names.emplace_back(info.name);
  return fail(ErrorKind::kUsage, "unknown mechanism '" + std::string(name) + "'" +
                                     did_you_mean(name, names) + "; valid: " + join(names));
}

}  // namespace sotto
