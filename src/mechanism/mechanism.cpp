// The door from Bounded to Report, and the registry.
#include "sotto/mechanism.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "base/nearest.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mechanism/registration.h"

namespace sotto {
namespace {

struct Entry {
  std::string_view name;
  const Registration* registration;
};

constexpr std::array kEntries = {
#define SOTTO_MECHANISM(name, file) Entry{name, &file##_registration},
#include "mechanism/mechanisms.def"
#undef SOTTO_MECHANISM
};

std::string parameter_names(const MechanismInfo& info) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : info.parameters) names.emplace_back(parameter.name);
  return names.empty() ? "no parameter" : join(names);
}

Result<void> check_value(const MechanismInfo& info, const ParameterInfo& parameter, double value) {
  if (parameter.accepts(value)) return {};
  return fail(ErrorKind::kUsage, std::string(info.name) + ": " + std::string(parameter.name) +
                                     " = " + short_number(value) + "; valid: " + parameter.valid());
}

/// Every given name must be known and every value valid; fills in the defaults.
Result<Parameters> complete(const MechanismInfo& info, const Parameters& given) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : info.parameters) names.emplace_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fail(ErrorKind::kUsage, std::string(info.name) + " takes no '" + name + "'" +
                                         did_you_mean(name, names) +
                                         "; it takes: " + parameter_names(info));
    }
  }
  Parameters all;
  for (const ParameterInfo& parameter : info.parameters) {
    const auto it = given.find(parameter.name);
    if (it != given.end()) {
      SOTTO_CHECK(check_value(info, parameter, it->second));
      all[std::string(parameter.name)] = it->second;
    } else if (parameter.default_value) {
      all[std::string(parameter.name)] = *parameter.default_value;
    } else if (parameter.required) {
      return fail(ErrorKind::kUsage, std::string(info.name) + " needs " +
                                         std::string(parameter.name) + ", " + parameter.valid() +
                                         ": " + std::string(parameter.meaning));
    }
  }
  return all;
}

Result<void> check_domain(std::string_view name, const Domain& domain) {
  if (!domain.layout || domain.ranges.size() != domain.layout->tensors().size()) {
    return fail(ErrorKind::kInternal, "a domain must have one range for each tensor");
  }
  for (std::size_t t = 0; t < domain.ranges.size(); ++t) {
    const Range& range = domain.ranges[t];
    const bool valid = std::isfinite(range.centre) && range.radius > 0.0 &&
                       std::abs(range.centre) + range.radius <= 1e30;
    if (valid) continue;
    return fail(ErrorKind::kUsage,
                std::string(name) + ": the range of '" + domain.layout->tensors()[t].name +
                    "' has centre " + short_number(range.centre) + " and radius " +
                    short_number(range.radius) +
                    "; valid: a finite centre and a radius above 0, together at most 1e30");
  }
  return {};
}

}  // namespace

std::string_view name_of(GuaranteeUnit unit) noexcept {
  switch (unit) {
    case GuaranteeUnit::kWeight:
      return "weight";
    case GuaranteeUnit::kVector:
      return "vector";
    case GuaranteeUnit::kReport:
      break;
  }
  return "report";
}

std::string_view name_of(MechanismKind kind) noexcept {
  switch (kind) {
    case MechanismKind::kValue:
      return "value";
    case MechanismKind::kVector:
      return "vector";
    case MechanismKind::kBits:
      break;
  }
  return "bits";
}

std::string ParameterInfo::valid() const {
  return std::string(integer ? "a whole number in " : "a number in ") + (low_open ? "(" : "[") +
         short_number(low) + ", " + short_number(high) + "]";
}

bool ParameterInfo::accepts(double value) const {
  return value <= high && (low_open ? value > low : value >= low) &&
         (!integer || value == std::floor(value));
}

Background Mechanism::background(std::size_t, std::size_t) const {
  // With a delta, distributions may differ by more than any epsilon.
  Background background;
  const Guarantee whole = guarantee();
  if (whole.delta == 0.0) background.epsilon = whole.epsilon;
  return background;
}

std::optional<double> Mechanism::log_prob_along(double, double) const { return std::nullopt; }

Report Mechanism::perturb(const Bounded& input, BitSource& bits, unsigned threads) const {
  if (input.domain_ != domain().fingerprint()) {
    throw std::invalid_argument("perturb() needs values that were bounded for this mechanism");
  }
  PackedSymbols symbols(outputs(), symbol_bits());
  sample(input.values(), bits, threads, symbols);
  return {std::string(id()), std::move(symbols)};
}

std::span<const MechanismInfo> mechanisms() {
  static const std::vector<MechanismInfo> all = [] {
    std::vector<MechanismInfo> infos;
    for (const Entry& entry : kEntries) infos.push_back(entry.registration->info);
    return infos;
  }();
  return all;
}

Result<const MechanismInfo*> find_mechanism(std::string_view name) {
  std::vector<std::string> names;
  for (const MechanismInfo& info : mechanisms()) {
    if (info.name == name) return &info;
    names.emplace_back(info.name);
  }
  return fail(ErrorKind::kUsage, "unknown mechanism '" + std::string(name) + "'" +
                                     did_you_mean(name, names) + "; valid: " + join(names));
}

Result<std::unique_ptr<Mechanism>> make_mechanism(std::string_view name, Domain domain,
                                                  const Parameters& parameters) {
  SOTTO_TRY(const MechanismInfo* info, find_mechanism(name));
  SOTTO_TRY(const Parameters all, complete(*info, parameters));
  SOTTO_CHECK(check_domain(name, domain));
  const auto entry = std::find_if(kEntries.begin(), kEntries.end(),
                                  [&](const Entry& e) { return e.name == name; });
  return entry->registration->make(std::move(domain), all);
}

std::string mechanism_id(std::string_view version, const Domain& domain,
                         const Parameters& parameters) {
  std::ostringstream text;
  text << version << '\n' << domain.layout->fingerprint() << '\n' << std::hexfloat;
  for (const Range& range : domain.ranges) text << range.centre << ' ' << range.radius << '\n';
  text << static_cast<int>(domain.shape) << ' ' << domain.norm << '\n';
  for (const auto& [name, value] : parameters) text << name << '=' << value << '\n';
  return std::string(version) + ':' + sha256_hex(text.str()).substr(0, 16);
}

}  // namespace sotto
