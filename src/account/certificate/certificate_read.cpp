// From the fields of a certificate back to its content. Only what is needed to derive the rest is
// read: all other fields are compared with what is derived, so one that does not belong there is
// found by that. Limits keep a hostile file from costing more than an honest one.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "account/certificate/certificate_form.h"
#include "base/text.h"
#include "recipe/choice_names.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostMechanisms = 4096;
constexpr std::uint64_t kMostTurns = 4096;
constexpr std::uint64_t kMostPlaces = 100'000;
constexpr std::uint64_t kMostTensors = 10'000;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostClients = 1'000'000'000;
constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 32;  // RoundId has 32 bits
/// Weights times rounds: as much as composes in a few seconds.
constexpr std::uint64_t kMostReleases = std::uint64_t{1} << 44;

tl::unexpected<Error> wrong(const std::string& key, const std::string& demanded) {
  return fail(ErrorKind::kCorrupt, "not a certificate: '" + key + "' must be " + demanded);
}

Result<const Json*> field(const Json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) {
    return fail(ErrorKind::kCorrupt, "not a certificate: '" + key + "' is missing");
  }
  return &*found;
}

Result<const Json*> array(const Json& object, const std::string& key, std::uint64_t most) {
  SOTTO_TRY(const Json* const value, field(object, key));
  if (!value->is_array() || value->size() > most) {
    return wrong(key, "a list of at most " + with_commas(most) + " entries");
  }
  return value;
}

Result<std::uint64_t> count(const Json& object, const std::string& key, std::uint64_t most) {
  SOTTO_TRY(const Json* const value, field(object, key));
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
    return wrong(key, "a whole number in [0, " + with_commas(most) + "]");
  }
  return value->get<std::uint64_t>();
}

/// From its hexadecimal form, with which the decimal one is compared afterwards.
Result<double> number(const Json& object, const std::string& key, double low, double high) {
  SOTTO_TRY(const std::string text, text_field(object, key + "_hex"));
  const double value = std::strtod(text.c_str(), nullptr);
  if (hex_number(value) != text || !(value >= low && value <= high)) {
    return wrong(key + "_hex", "a number in [" + short_number(low) + ", " + short_number(high) +
                                   "] as %a writes it");
  }
  return value;
}

Result<Parameters> parameters_of(const Json& mechanism) {
  constexpr double kAny = std::numeric_limits<double>::max();
  Parameters parameters;
  SOTTO_TRY(const Json* const list, array(mechanism, "parameters", 100));
  for (const Json& each : *list) {
    SOTTO_TRY(const std::string name, text_field(each, "name"));
    SOTTO_TRY(parameters[name], number(each, "value", -kAny, kAny));
  }
  return parameters;
}

Result<std::vector<std::int64_t>> shape_of(const Json& tensor) {
  SOTTO_TRY(const Json* const list, array(tensor, "shape", 64));
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 1;
  for (const Json& extent : *list) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMostElements) {
      return wrong("shape", "a list of whole numbers in [0, 2^40]");
    }
    shape.push_back(extent.get<std::int64_t>());
    const auto count = extent.get<std::uint64_t>();
    // Compared before they are multiplied: a product of two such numbers can be 0 in 64 bits.
    if (count > 0 && elements > kMostElements / count) {
      return wrong("shape", "one of at most 2^40 elements");
    }
    elements *= count;
  }
  return shape;
}

Result<Domain> domain_of(const Json& mechanism) {
  SOTTO_TRY(const Json* const json, field(mechanism, "domain"));
  SOTTO_TRY(const std::string shape, text_field(*json, "shape"));
  Domain domain;
  if (shape != "box" && shape != "ball" && shape != "one-hot") {
    return wrong("shape", "box, ball or one-hot");
  }
  domain.shape = shape == "box" ? Shape::kBox : shape == "ball" ? Shape::kBall : Shape::kOneHot;
  SOTTO_TRY(domain.norm, number(*json, "norm", 0.0, 1e30));
  auto layout = std::make_shared<Layout>();
  SOTTO_TRY(const Json* const tensors, array(*json, "tensors", kMostTensors));
  for (const Json& tensor : *tensors) {
    SOTTO_TRY(std::string name, text_field(tensor, "name"));
    SOTTO_TRY(std::vector<std::int64_t> extents, shape_of(tensor));
    SOTTO_TRY(const std::string role, text_field(tensor, "role"));
    if (role != "parameter" && role != "buffer") return wrong("role", "parameter or buffer");
    layout->add(std::move(name), std::move(extents),
                role == "parameter" ? TensorRole::kParameter : TensorRole::kBuffer);
    Range range;
    SOTTO_TRY(range.centre, number(tensor, "centre", -1e30, 1e30));
    SOTTO_TRY(range.radius, number(tensor, "radius", 0.0, 1e30));
    domain.ranges.push_back(range);
  }
  if (layout->size() > kMostElements) return wrong("tensors", "of at most 2^40 elements in all");
  domain.layout = std::move(layout);
  return domain;
}

Result<Turn> turn_of(const Json& json, bool older) {
  Turn turn;
  if (!older) {
    SOTTO_TRY(turn.held, count(json, "held", kMostRounds));
  }
  SOTTO_TRY(turn.rounds, count(json, "rounds", kMostRounds));
  SOTTO_TRY(const Json* const batches, array(json, "batches", 1'000'000));
  std::uint64_t released = 0;
  for (const Json& batch : *batches) {
    SOTTO_TRY(const std::uint64_t clients, count(batch, "clients", kMostClients));
    SOTTO_TRY(turn.batches[clients], count(batch, "rounds", kMostRounds));
    released += turn.batches[clients];
    if (released > kMostRounds) return wrong("batches", "of at most 2^32 rounds in all");
  }
  return turn;
}

/// Lists of places in the list of mechanisms, all of one length.
Result<std::vector<std::vector<std::size_t>>> variants_of(const Json& turn, std::size_t known) {
  std::vector<std::vector<std::size_t>> all;
  SOTTO_TRY(const Json* const variants, array(turn, "variants", kMostMechanisms));
  for (const Json& together : *variants) {
    const bool valid = together.is_array() && together.size() <= kMostMechanisms &&
                       std::ranges::all_of(together, [known](const Json& place) {
                         return place.is_number_unsigned() && place.get<std::uint64_t>() < known;
                       });
    if (!valid || (!all.empty() && all.front().size() != together.size())) {
      return wrong("variants", "lists of equal length of numbers below that of mechanisms");
    }
    all.push_back(together.get<std::vector<std::size_t>>());
  }
  if (all.empty()) return wrong("variants", "one list or more");
  return all;
}

Result<Exposure> exposure_of(const Json& json, bool older) {
  Exposure exposure;
  if (!older) {
    SOTTO_TRY(exposure.population, count(json, "population", kMostClients));
    SOTTO_TRY(exposure.honest, number(json, "honest", 0.0, 1.0));
  }
  SOTTO_TRY(const Json* const every, field(json, "every_round"));
  if (!every->is_boolean()) return wrong("every_round", "true or false");
  exposure.every_round = every->get<bool>();
  SOTTO_TRY(const std::string shuffle, text_field(json, "shuffle"));
  const auto mode = choice_of<ShuffleMode>(shuffle);
  if (!mode) return wrong("shuffle", "none, shuffler or latency");
  exposure.shuffle = *mode;
  SOTTO_TRY(exposure.split, count(json, "split", kMostElements));
  SOTTO_TRY(exposure.sampling, number(json, "sampling", 0.0, 1.0));
  SOTTO_TRY(exposure.delta, number(json, "delta", 0.0, 1.0));
  SOTTO_TRY(const Json* const audit, field(json, "audit"));
  if (!audit->is_null()) {
    constexpr double kAny = std::numeric_limits<double>::max();
    SOTTO_TRY(exposure.audited_epsilon, number(*audit, "epsilon", 0.0, kAny));
    SOTTO_TRY(exposure.audit_confidence, number(*audit, "confidence", 0.0, 1.0));
  }
  return exposure;
}

Result<Coins> coins_of(const Json& body) {
  SOTTO_TRY(const std::string name, text_field(body, "coins"));
  for (const Coins coins : {Coins::kClients, Coins::kSimulation, Coins::kRehearsal}) {
    if (name == name_of(coins)) return coins;
  }
  return wrong("coins",
               "\"clients' own system randomness\", \"public seed (simulation)\" or "
               "\"public seed (rehearsal)\"");
}

}  // namespace

std::string_view name_of(Coins coins) {
  switch (coins) {
    case Coins::kClients:
      return "clients' own system randomness";
    case Coins::kSimulation:
      return "public seed (simulation)";
    case Coins::kRehearsal:
      return "public seed (rehearsal)";
    case Coins::kUnsaid:
      break;
  }
  return "not said";
}

Result<std::string> text_field(const Json& object, const std::string& key) {
  SOTTO_TRY(const Json* const value, field(object, key));
  if (!value->is_string()) return wrong(key, "a text");
  return value->get<std::string>();
}

Result<CertificateParts> certificate_content(const nlohmann::json& body) {
  CertificateParts parts;
  CertificateContent& content = parts.content;
  const auto format = body.find("format");
  const bool older = format != body.end() && *format == kOlderFormat;
  content.coins = Coins::kUnsaid;
  if (!older) {
    SOTTO_TRY(content.coins, coins_of(body));
  }
  SOTTO_TRY(const Json* const mechanisms, array(body, "mechanisms", kMostMechanisms));
  for (const Json& mechanism : *mechanisms) {
    MechanismSpec spec;
    SOTTO_TRY(spec.name, text_field(mechanism, "name"));
    SOTTO_TRY(spec.parameters, parameters_of(mechanism));
    SOTTO_TRY(spec.domain, domain_of(mechanism));
    content.mechanisms.push_back(std::move(spec));
  }
  SOTTO_TRY(const Json* const exposure, field(body, "exposure"));
  SOTTO_TRY(content.exposure, exposure_of(*exposure, older));
  SOTTO_TRY(const Json* const turns, array(*exposure, "turns", kMostTurns));
  std::uint64_t releases = 0, places = 0;
  for (const Json& json : *turns) {
    SOTTO_TRY(Turn turn, turn_of(json, older));
    SOTTO_TRY(auto variants, variants_of(json, content.mechanisms.size()));
    std::uint64_t weights = 0;
    for (const std::vector<std::size_t>& together : variants) {
      std::uint64_t sum = 0;
      for (const std::size_t place : together)
        sum += content.mechanisms[place].domain.layout->size();
      weights = std::max(weights, sum);
      places += together.size();
      if (sum > kMostElements) return wrong("variants", "of at most 2^40 weights together");
    }
    if (places > kMostPlaces) return wrong("variants", "of at most 100,000 reports in all");
    if (weights > 0 && turn.rounds > kMostReleases / weights) {
      return wrong("rounds", "at most 2^44 divided by the number of weights");
    }
    releases += weights * turn.rounds;
    if (releases > kMostReleases) return wrong("turns", "of at most 2^44 weights in all rounds");
    content.exposure.turns.push_back(std::move(turn));
    parts.variants.push_back(std::move(variants));
  }
  SOTTO_TRY(const Json* const ledger, field(body, "ledger"));
  if (!ledger->is_null()) {
    constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
    LedgerHead head;
    SOTTO_TRY(head.entries, count(*ledger, "entries", kAny));
    SOTTO_TRY(head.hash, text_field(*ledger, "hash"));
    SOTTO_TRY(content.accounts, count(*ledger, "accounts", kAny));
    content.ledger = std::move(head);
  }
  SOTTO_TRY(const Json* const recipe, field(body, "recipe"));
  if (!recipe->is_null()) {
    SOTTO_TRY(content.recipe, text_field(body, "recipe"));
  }
  return parts;
}

}  // namespace sotto
