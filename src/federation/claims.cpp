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

nlohmann::json privacy_record(const Mechanism& mechanism, const Exposure& exposure,
                              const std::vector<Claim>& claims, bool planned) {
  const std::string id(mechanism.id());
  nlohmann::json batches = nlohmann::json::array();
  for (const auto& [size, rounds] : exposure.batches) {
    batches.push_back({{"size", size}, {"rounds", rounds}});
  }
  nlohmann::json list = nlohmann::json::array();
  for (const Claim& claim : claims) list.push_back(to_json(claim));
  return {{"mechanism", id.substr(0, id.rfind(".v"))},
          {"mechanism_id", id},
          {"planned", planned},
          {"rounds", exposure.rounds},
          {"shuffle", exposure.shuffle == ShuffleMode::kShuffler ? "shuffler" : "none"},
          {"split", exposure.split},
          {"batches", std::move(batches)},
          {"delta", exposure.delta},
          {"claims", std::move(list)}};
}

}  // namespace sotto
