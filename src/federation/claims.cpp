// Claims and what they rest on, as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "sotto/federation.h"

namespace sotto {

nlohmann::json to_json(const Claim& claim) {
  // Infinity has no JSON number: null stands for it.
  const bool finite = std::isfinite(claim.epsilon);
  return {{"scope", claim.scope},
          {"epsilon", finite ? nlohmann::json(claim.epsilon) : nlohmann::json(nullptr)},
          {"delta", claim.delta},
          {"theorem", claim.theorem},
          {"assumption", claim.assumption},
          {"source", claim.source},
          {"vacuous", claim.vacuous()}};
}

namespace {

std::string name_of(const Mechanism& mechanism) {
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
          {"batches", batches_json(turn.batches)}};
}

}  // namespace

nlohmann::json privacy_record(const Exposure& exposure, const std::vector<Claim>& claims,
                              bool planned) {
  nlohmann::json mechanisms = nlohmann::json::array();
  for (const auto& mechanism : exposure.mechanisms()) {
    const Guarantee guarantee = mechanism->guarantee();
    const bool finite = std::isfinite(guarantee.unit_epsilon);
    mechanisms.push_back({{"mechanism", name_of(*mechanism)},
                          {"mechanism_id", mechanism->id()},
                          {"outputs", mechanism->outputs()},
                          {"unit", guarantee.unit},
                          {"unit_epsilon", finite ? nlohmann::json(guarantee.unit_epsilon)
                                                  : nlohmann::json(nullptr)}});
  }
  nlohmann::json turns = nlohmann::json::array();
  for (const Turn& turn : exposure.turns) turns.push_back(turn_json(turn));
  nlohmann::json list = nlohmann::json::array();
  for (const Claim& claim : claims) list.push_back(to_json(claim));
  const nlohmann::json none = nullptr;
  const bool any = !mechanisms.empty();
  return {{"mechanism", any ? mechanisms[0]["mechanism"] : none},
          {"mechanism_id", any ? mechanisms[0]["mechanism_id"] : none},
          {"mechanisms", mechanisms},
          {"turns", std::move(turns)},
          {"planned", planned},
          {"rounds", exposure.rounds()},
          {"shuffle", name_of(exposure.shuffle)},
          {"split", exposure.split},
          {"sampling", exposure.sampling},
          {"batches", batches_json(exposure.batches())},
          {"delta", exposure.delta},
          {"claims", std::move(list)},
          {"groups", nlohmann::json::array()}};
}

nlohmann::json privacy_record(const std::vector<GroupClaims>& groups, bool planned) {
  const GroupClaims* const worst = worst_group(groups);
  if (worst == nullptr) return privacy_record(Exposure{}, {}, planned);
  nlohmann::json record = privacy_record(worst->exposure, worst->claims, planned);
  for (const GroupClaims& group : groups) {
    nlohmann::json one = privacy_record(group.exposure, group.claims, planned);
    one.erase("groups");
    one["name"] = group.name;
    one["clients"] = group.clients;
    record["groups"].push_back(std::move(one));
  }
  return record;
}

}  // namespace sotto
