// Scopes and their texts: one text for each scope, one scope for each text.
#include "account/claim_text.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace sotto {
namespace {

TEST(ClaimText, EveryScopeHasItsTextAndEveryTextItsScope) {
  std::set<std::string_view> texts;
  for (const ScopeText& known : scope_texts()) {
    EXPECT_TRUE(texts.insert(known.text).second) << known.text;
    EXPECT_EQ(find_scope(known.text), &known);
    EXPECT_EQ(find_scope(known.scope, known.status), &known) << known.text;
    Claim claim;
    claim.scope = known.scope;
    claim.status = known.status;
    EXPECT_EQ(scope_text(claim), known.text);
  }
  EXPECT_EQ(texts.size(), 26U);
}

/// The texts themselves, which files of earlier runs and people's scripts have.
TEST(ClaimText, TheTextsStay) {
  const std::set<std::string_view> expected = {
      "one weight, one round",
      "client, one round",
      "client, whole training",
      "client, one round, if nobody sees who was picked",
      "client, whole training, if nobody sees who was picked",
      "client, one round, after the shuffler",
      "client, whole training, after the shuffler",
      "client, whole training, after the shuffler, if a tenth of the others collude",
      "client, whole training, after the shuffler, if half of the others collude",
      "client against pure noise, whole training, after the shuffler",
      "client, one round, if delays mixed perfectly",
      "client, whole training, if delays mixed perfectly",
      "secure aggregation, one round",
      "record, features alone",
      "record, label alone",
      "record, encoder held fixed",
      "record, whole training",
      "one record, whole training",
      "one record, whole training, the server's view",
      "as published, one weight",
      "as published, one vector",
      "as published, one report",
      "as published, one record",
      "as published, one record, the server's view",
      "as published, client",
      "audited, whole training"};
  std::set<std::string_view> found;
  for (const ScopeText& known : scope_texts()) found.insert(known.text);
  EXPECT_EQ(found, expected);
}

TEST(ClaimText, WhatViolatesAProofIsCalledByItsScopeToo) {
  Claim claim;
  claim.status = Status::kViolated;
  EXPECT_EQ(scope_text(claim), "audited, whole training");
  EXPECT_TRUE(claim.measured());
  EXPECT_FALSE(promises_client(claim));
}

TEST(ClaimText, AScopeThatNoClaimHasIsAFault) {
  Claim claim;
  claim.scope = {.unit = Unit::kVector, .view = View::kSum};
  EXPECT_THROW(scope_text(claim), std::logic_error);
  claim.scope = {.view = View::kShuffler};
  claim.status = Status::kMeasured;
  EXPECT_THROW(scope_text(claim), std::logic_error);
  EXPECT_EQ(find_scope("client, one roundd"), nullptr);
}

/// A run is called by a proven claim about a client over the whole training, whatever its number.
TEST(ClaimText, TwoScopesPromiseAClient) {
  std::set<std::string_view> promised;
  for (const ScopeText& known : scope_texts()) {
    Claim claim;
    claim.scope = known.scope;
    claim.status = known.status;
    if (promises_client(claim)) promised.insert(known.text);
  }
  EXPECT_EQ(promised, (std::set<std::string_view>{"client, whole training",
                                                  "client, whole training, after the shuffler"}));
}

template <class T, std::size_t n>
void expect_names(const Name<T> (&names)[n]) {
  std::set<std::string_view> all;
  for (const Name<T>& entry : names) {
    EXPECT_TRUE(all.insert(entry.name).second) << entry.name;
    EXPECT_EQ(name_of(entry.value), entry.name);
    EXPECT_EQ(value_in<T>(names, entry.name), entry.value);
  }
  EXPECT_FALSE(value_in<T>(names, "nothing"));
}

TEST(ClaimText, EveryValueHasItsName) {
  expect_names(kUnitNames);
  expect_names(kPeriodNames);
  expect_names(kViewNames);
  expect_names(kColludersNames);
  expect_names(kStatusNames);
}

TEST(ClaimText, WhatIsMissingHasATextToo) {
  Claim claim;
  EXPECT_EQ(assumption_text(claim), "-");
  EXPECT_EQ(source_text(claim), "sotto");
  claim.assumption = "an assumption";
  claim.authors = "its authors";
  EXPECT_EQ(assumption_text(claim), "an assumption");
  EXPECT_EQ(source_text(claim), "its authors");
}

}  // namespace
}  // namespace sotto
