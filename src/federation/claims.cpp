// What a run may claim. The epsilon of one weight must never pass for a client's: a client sends
// all its weights, in every round that it takes part in, and both compose.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sotto/federation.h"

namespace sotto {
namespace {

constexpr double kVacuous = 50.0;  // e^50 protects nobody

/// The least double that is not below the product of two numbers of 0 or more.
double times_up(double a, double b) {
  const double product = a * b;
  if (!std::isfinite(product) || std::fma(a, b, -product) <= 0.0) return product;
  return std::nextafter(product, std::numeric_limits<double>::infinity());
}

nlohmann::json claim(const std::string& scope, double epsilon, double delta,
                     const std::string& theorem, const std::string& assumption,
                     const std::string& source) {
  // Infinity has no JSON number: null stands for it.
  return {{"scope", scope},
          {"epsilon", std::isfinite(epsilon) ? nlohmann::json(epsilon) : nlohmann::json(nullptr)},
          {"delta", delta},
          {"theorem", theorem},
          {"assumption", assumption},
          {"source", source},
          {"vacuous", !(epsilon <= kVacuous)}};
}

std::string published_by(const std::string& mechanism) {
  const auto info = find_mechanism(mechanism);
  return info ? std::string((*info)->reference) : "its authors";
}

}  // namespace

nlohmann::json privacy_record(const Mechanism& mechanism, std::uint64_t rounds, bool all_clients) {
  const Guarantee guarantee = mechanism.guarantee();
  const std::string id(mechanism.id());
  const std::string name = id.substr(0, id.rfind(".v"));
  const bool by_weight = guarantee.unit == "weight";
  nlohmann::json claims = nlohmann::json::array();
  if (guarantee.claimed_epsilon < guarantee.unit_epsilon) {
    // A scope of its own: a published claim that does not hold is never taken for a client's.
    claims.push_back(claim("as published, one " + guarantee.unit, guarantee.claimed_epsilon,
                           guarantee.delta, "the claim of the authors of " + name,
                           "it does not hold: the exact value is that of the other claims",
                           published_by(name)));
  }
  if (by_weight) {
    claims.push_back(claim("one weight, one round", guarantee.unit_epsilon, guarantee.delta,
                           guarantee.statement,
                           "about one of the " + with_commas(mechanism.outputs()) +
                               " weights alone, which is not what a client sends",
                           "sotto"));
  }
  claims.push_back(claim("client, one round", guarantee.epsilon, guarantee.delta,
                         by_weight ? "sum over " + with_commas(mechanism.outputs()) +
                                         " weights (sequential composition)"
                                   : guarantee.statement,
                         "-", "sotto"));
  const auto times = static_cast<double>(rounds);
  claims.push_back(claim("client, whole training", times_up(guarantee.epsilon, times),
                         std::min(1.0, times_up(guarantee.delta, times)),
                         (by_weight ? "sum over weights and " : "sum over ") + with_commas(rounds) +
                             (rounds == 1 ? " round" : " rounds") + " (sequential composition)" +
                             (all_clients ? "" : ", for a client that is picked in every round"),
                         "-", "sotto"));
  return {{"mechanism", name}, {"mechanism_id", id}, {"claims", claims}};
}

}  // namespace sotto
