// From the fields of a certificate back to its content. Only what is needed to derive the rest is
// read: all other fields are compared with what is derived, so one that does not belong there is
// found by that. Limits keep a hostile file from costing more than an honest one.
#include <cmath>
#include <cstdlib>

#include "account/certificate_form.h"
#include "base/text.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

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
    elements = elements == 0 || extent == 0 ? 0 : elements * extent.get<std::uint64_t>();
    if (elements > kMostElements) return wrong("shape", "one of at most 2^40 elements");
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

Result<Exposure> exposure_of(const Json& body) {
  SOTTO_TRY(const Json* const json, field(body, "exposure"));
  Exposure exposure;
  SOTTO_TRY(exposure.rounds, count(*json, "rounds", kMostRounds));
  SOTTO_TRY(const Json* const every, field(*json, "every_round"));
  if (!every->is_boolean()) return wrong("every_round", "true or false");
  exposure.every_round = every->get<bool>();
  SOTTO_TRY(const std::string shuffle, text_field(*json, "shuffle"));
  if (shuffle != "none" && shuffle != "shuffler") return wrong("shuffle", "none or shuffler");
  exposure.shuffle = shuffle == "none" ? ShuffleMode::kNone : ShuffleMode::kShuffler;
  SOTTO_TRY(exposure.split, count(*json, "split", kMostElements));
  SOTTO_TRY(const Json* const batches, array(*json, "batches", 1'000'000));
  std::uint64_t released = 0;
  for (const Json& batch : *batches) {
    SOTTO_TRY(const std::uint64_t clients, count(batch, "clients", kMostClients));
    SOTTO_TRY(exposure.batches[clients], count(batch, "rounds", kMostRounds));
    released += exposure.batches[clients];
    if (released > kMostRounds) return wrong("batches", "of at most 2^32 rounds in all");
  }
  SOTTO_TRY(exposure.sampling, number(*json, "sampling", 0.0, 1.0));
  SOTTO_TRY(exposure.delta, number(*json, "delta", 0.0, 1.0));
  SOTTO_TRY(const Json* const audit, field(*json, "audit"));
  if (!audit->is_null()) {
    constexpr double kAny = std::numeric_limits<double>::max();
    SOTTO_TRY(exposure.audited_epsilon, number(*audit, "epsilon", 0.0, kAny));
    SOTTO_TRY(exposure.audit_confidence, number(*audit, "confidence", 0.0, 1.0));
  }
  return exposure;
}

}  // namespace

Result<std::string> text_field(const Json& object, const std::string& key) {
  SOTTO_TRY(const Json* const value, field(object, key));
  if (!value->is_string()) return wrong(key, "a text");
  return value->get<std::string>();
}

Result<CertificateContent> certificate_content(const nlohmann::json& body) {
  CertificateContent content;
  SOTTO_TRY(const Json* const mechanism, field(body, "mechanism"));
  SOTTO_TRY(content.mechanism, text_field(*mechanism, "name"));
  SOTTO_TRY(content.parameters, parameters_of(*mechanism));
  SOTTO_TRY(content.domain, domain_of(*mechanism));
  SOTTO_TRY(content.exposure, exposure_of(body));
  const std::uint64_t weights = content.domain.layout->size();
  if (weights > 0 && content.exposure.rounds > kMostReleases / weights) {
    return wrong("rounds", "at most 2^44 divided by the number of weights");
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
  return content;
}

}  // namespace sotto
