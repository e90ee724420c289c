// Claims to JSON and back: every scope, every status, both kinds of JSON.
#include "record/claim_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "account/claim_text.h"

namespace sotto {
namespace {

void expect_same(const Claim& found, const Claim& claim) {
  EXPECT_EQ(found.scope, claim.scope);
  EXPECT_EQ(found.epsilon, claim.epsilon);
  EXPECT_EQ(found.delta, claim.delta);
  EXPECT_EQ(found.theorem, claim.theorem);
  EXPECT_EQ(found.assumption, claim.assumption);
  EXPECT_EQ(found.status, claim.status);
  EXPECT_EQ(found.authors, claim.authors);
}

std::vector<Claim> one_of_each() {
  std::vector<Claim> claims;
  for (const ScopeText& known : scope_texts()) {
    claims.push_back({known.scope, 1.5, 1e-6, "a theorem", "an assumption", known.status});
    claims.push_back({known.scope, HUGE_VAL, 0.0, "none", "", known.status, "its authors"});
  }
  claims.push_back({Scope{}, 7.0, 0.0, "lower bound", "VIOLATED", Status::kViolated});
  return claims;
}

TEST(ClaimJson, EveryClaimIsReadAsItWasWritten) {
  for (const Claim& claim : one_of_each()) {
    const Json json = claim_json<Json>(claim);
    const auto found = read_claim(Fields(json, "here"), true);
    ASSERT_TRUE(found) << found.error().message;
    expect_same(*found, claim);
    EXPECT_EQ(claim_json<nlohmann::json>(claim), nlohmann::json::parse(json.dump()));
  }
}

TEST(ClaimJson, TheTextOfAScopeTellsItsTypes) {
  for (const Claim& claim : one_of_each()) {
    if (claim.status == Status::kViolated) continue;  // its text is that of any measured one
    Json json = claim_json<Json>(claim);
    for (const char* key : {"unit", "period", "view", "colluders", "status"}) json.erase(key);
    const auto found = read_claim(Fields(json, "here"), false);
    ASSERT_TRUE(found) << found.error().message;
    expect_same(*found, claim);
  }
}

/// Any other text, unit, period, view, colluders or status makes another claim or none.
TEST(ClaimJson, ATextThatIsNotThatOfTheTypesIsRefused) {
  for (const Claim& claim : one_of_each()) {
    for (const ScopeText& other : scope_texts()) {
      Json json = claim_json<Json>(claim);
      if (json["scope"] == other.text) continue;
      json["scope"] = other.text;
      const auto found = read_claim(Fields(json, "here"), true);
      ASSERT_FALSE(found) << other.text;
      EXPECT_TRUE(found.error().message.starts_with("here: 'scope' must be"))
          << found.error().message;
    }
  }
}

}  // namespace
}  // namespace sotto
