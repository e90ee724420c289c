// Claims and what they rest on, as run.json and --json show them.
#include <nlohmann/json.hpp>

#include "base/json_number.h"
#include "record/claim_json.h"
#include "sotto/federation.h"

namespace sotto {
namespace {

std::string mechanism_name(const Mechanism& mechanism) {
  const std::string id(mechanism.id());
  return id.substr(0, id.rfind(".v"));
}

nlohmann::json batches_json(const std::map<std::uint64_t, std::uint64_t>& batches) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [size, rounds] : batches) list.push_back({{"size", size}, {"rounds", rounds}});
  return list;
}

nlohmann::json turn_json(const Turn& turn) {
  nlohmann::json variants = nlohmann::json::array();
  for (const auto& together : turn.variants) {
    nlohmann::json ids = nlohmann::json::array();
    for (const auto& mechanism : together) ids.push_back(mechanism->id());
    variants.push_back(std::move(ids));
  }
  return {{"variants", std::move(variants)},
          {"rounds", turn.rounds},
          {"held", turn.held},
          {"batches", batches_json(turn.batches)}};
}

nlohmann::json group_record(const GroupClaims& group) {
  const Exposure& exposure = group.exposure;
  nlohmann::json turns = nlohmann::json::array();
  for (const Turn& turn : exposure.turns) turns.push_back(turn_json(turn));
  nlohmann::json claims = nlohmann::json::array();
  for (const Claim& claim : group.claims) claims.push_back(to_json(claim));
  nlohmann::json mechanisms = nlohmann::json::array();
  for (const auto& mechanism : exposure.mechanisms()) {
    const Guarantee guarantee = mechanism->guarantee();
    mechanisms.push_back({{"mechanism", mechanism_name(*mechanism)},
                          {"mechanism_id", mechanism->id()},
                          {"weights", mechanism->outputs()},
                          {"unit_epsilon", number_or_null<nlohmann::json>(guarantee.unit_epsilon)},
                          {"epsilon", number_or_null<nlohmann::json>(guarantee.epsilon)}});
  }
  const nlohmann::json none = "none";  // where nothing leaves a client
  return {{"name", group.name},
          {"clients", group.clients},
          {"mechanism", mechanisms.empty() ? none : mechanisms[0]["mechanism"]},
          {"mechanism_id", mechanisms.empty() ? none : mechanisms[0]["mechanism_id"]},
          {"mechanisms", mechanisms},
          {"turns", std::move(turns)},
          {"rounds", exposure.rounds()},
          {"shuffle", name_of(exposure.shuffle)},
          {"split", exposure.split},
          {"sampling", exposure.sampling},
          {"population", exposure.population},
          {"honest", exposure.honest},
          {"batches", batches_json(exposure.batches())},
          {"delta", exposure.delta},
          {"claims", std::move(claims)}};
}

}  // namespace

nlohmann::json to_json(const Claim& claim) { return claim_json<nlohmann::json>(claim); }

nlohmann::json privacy_record(std::span<const GroupClaims> groups, bool planned) {
  nlohmann::json record = group_record(worst_group(groups));
  record.erase("name");
  record.erase("clients");
  record["planned"] = planned;
  record["groups"] = nlohmann::json::array();
  for (const GroupClaims& group : groups) record["groups"].push_back(group_record(group));
  return record;
}

}  // namespace sotto
