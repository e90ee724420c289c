#include "account/certificate/certificate_form.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestText = std::size_t{64} << 20;
constexpr std::size_t kDeepest = 8;

void put(Json& object, const std::string& key, double value) {
  object[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
  object[key + "_hex"] = hex_number(value);
}

const char* shape_name(Shape shape) {
  return shape == Shape::kBox ? "box" : shape == Shape::kBall ? "ball" : "one-hot";
}

Json domain_json(const Domain& domain) {
  Json tensors = Json::array();
  for (std::size_t t = 0; t < domain.ranges.size(); ++t) {
    const TensorSpec& spec = domain.layout->tensors()[t];
    Json tensor = {{"name", spec.name},
                   {"shape", std::vector<std::uint64_t>(spec.shape.begin(), spec.shape.end())},
                   {"role", spec.role == TensorRole::kParameter ? "parameter" : "buffer"},
                   {"size", spec.size}};
    put(tensor, "centre", domain.ranges[t].centre);
    put(tensor, "radius", domain.ranges[t].radius);
    tensors.push_back(std::move(tensor));
  }
  Json json = {{"shape", shape_name(domain.shape)}, {"tensors", std::move(tensors)}};
  put(json, "norm", domain.norm);
  return json;
}

Json guarantee_json(const Guarantee& guarantee) {
  Json json = {{"statement", guarantee.statement},
               {"unit", name_of(guarantee.unit)},
               {"units", guarantee.units}};
  put(json, "epsilon", guarantee.epsilon);
  put(json, "delta", guarantee.delta);
  put(json, "unit_epsilon", guarantee.unit_epsilon);
  put(json, "claimed_epsilon", guarantee.claimed_epsilon);
  put(json, "gaussian_ratio", guarantee.gaussian_ratio);
  put(json, "alpha", guarantee.alpha);
  return json;
}

Json mechanism_json(const MechanismSpec& spec, const Mechanism& mechanism) {
  Json parameters = Json::array();
  for (const auto& [name, value] : spec.parameters) {
    Json parameter = {{"name", name}};
    put(parameter, "value", value);
    parameters.push_back(std::move(parameter));
  }
  Json constants = Json::array();
  for (const Constant& constant : mechanism.constants()) {
    constants.push_back({{"name", constant.name}, {"value", constant.value}});
  }
  return {{"name", spec.name},
          {"id", mechanism.id()},
          {"parameters", std::move(parameters)},
          {"domain", domain_json(mechanism.domain())},
          {"constants", std::move(constants)},
          {"guarantee", guarantee_json(mechanism.guarantee())}};
}

Json turn_json(const Turn& turn, const Mechanisms& mechanisms, bool older) {
  Json variants = Json::array();
  for (const auto& together : turn.variants) {
    Json places = Json::array();
    for (const auto& mechanism : together) {
      const auto same = [&](const auto& other) { return other->id() == mechanism->id(); };
      const auto place = std::ranges::find_if(mechanisms, same) - mechanisms.begin();
      places.push_back(static_cast<std::uint64_t>(place));
    }
    variants.push_back(std::move(places));
  }
  Json batches = Json::array();
  for (const auto& [clients, rounds] : turn.batches) {
    batches.push_back({{"clients", clients}, {"rounds", rounds}});
  }
  Json json = {
      {"variants", std::move(variants)}, {"rounds", turn.rounds}, {"batches", std::move(batches)}};
  if (!older) json["held"] = turn.held;
  return json;
}

Json exposure_json(const Exposure& exposure, const Mechanisms& mechanisms, bool older) {
  Json turns = Json::array();
  for (const Turn& turn : exposure.turns) turns.push_back(turn_json(turn, mechanisms, older));
  Json json = {{"turns", std::move(turns)},
               {"every_round", exposure.every_round},
               {"shuffle", name_of(exposure.shuffle)},
               {"split", exposure.split},
               {"audit", nullptr}};
  put(json, "sampling", exposure.sampling);
  put(json, "delta", exposure.delta);
  if (!older) {
    json["population"] = exposure.population;
    put(json, "honest", exposure.honest);
  }
  if (exposure.audited_epsilon) {
    Json audit = Json::object();
    put(audit, "epsilon", *exposure.audited_epsilon);
    put(audit, "confidence", exposure.audit_confidence);
    json["audit"] = std::move(audit);
  }
  return json;
}

Json claims_json(const std::vector<Claim>& claims) {
  Json list = Json::array();
  for (const Claim& claim : claims) {
    Json json = {{"scope", scope_text(claim)},
                 {"theorem", claim.theorem},
                 {"assumption", assumption_text(claim)},
                 {"source", source_text(claim)},
                 {"vacuous", claim.vacuous()}};
    put(json, "epsilon", claim.epsilon);
    put(json, "delta", claim.delta);
    list.push_back(std::move(json));
  }
  return list;
}

/// Brackets inside brackets, at most; strings aside.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

std::string formats() { return std::string(kCertificateFormat) + ", " + kOlderFormat; }

tl::unexpected<Error> not_one(const std::string& why) {
  return fail(ErrorKind::kCorrupt, "not a certificate: " + why);
}

}  // namespace

nlohmann::json certificate_body(const CertificateContent& content, const Mechanisms& mechanisms,
                                const std::vector<Claim>& claims, const std::string& version,
                                const std::string& public_key, const std::string& format) {
  const bool older = format == kOlderFormat;
  Json ledger = nullptr;
  if (content.ledger) {
    ledger = {{"entries", content.ledger->entries},
              {"hash", content.ledger->hash},
              {"accounts", content.accounts}};
  }
  Json specs = Json::array();
  for (std::size_t i = 0; i < mechanisms.size(); ++i) {
    specs.push_back(mechanism_json(content.mechanisms[i], *mechanisms[i]));
  }
  Json body = {{"format", format},
               {"sotto", version},
               {"mechanisms", std::move(specs)},
               {"exposure", exposure_json(content.exposure, mechanisms, older)},
               {"ledger", std::move(ledger)},
               {"recipe", content.recipe.empty() ? Json(nullptr) : Json(content.recipe)},
               {"claims", claims_json(claims)},
               {"public_key", public_key}};
  if (!older) body["coins"] = name_of(content.coins);
  return body;
}

std::string certificate_text(const nlohmann::json& whole) { return whole.dump(2) + '\n'; }

Result<nlohmann::json> parse_certificate(std::string_view text) {
  if (text.size() > kLargestText) {
    return not_one(byte_size(text.size()) + "; none is larger than " + byte_size(kLargestText));
  }
  if (depth_of(text) > kDeepest) {
    return not_one("its brackets nest deeper than " + std::to_string(kDeepest) + " levels");
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return not_one("broken or cut off: it is no valid JSON");
  if (!json.is_object() || !json.contains("format")) {
    return not_one("it has no 'format'; valid: " + formats());
  }
  if (json["format"] != kCertificateFormat && json["format"] != kOlderFormat) {
    return not_one("its format is " + json["format"].dump().substr(0, 60) +
                   "; valid: " + formats());
  }
  const std::string again = certificate_text(json);
  if (again != text) {
    const auto [ours, theirs] = std::mismatch(again.begin(), again.end(), text.begin(), text.end());
    return not_one("line " + std::to_string(1 + std::count(again.begin(), ours, '\n')) +
                   " is not written as Sotto writes it (a key twice, other digits or spaces)");
  }
  return json;
}

}  // namespace sotto
