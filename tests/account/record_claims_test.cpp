// What is said of records that are randomized once: exact for the report, infinite where a label
// has no protection, and never a record's own report where the record helped to train the encoder.
#include <gtest/gtest.h>

#include <cmath>

#include "flat_layout.h"
#include "sotto/records.h"

namespace sotto {
namespace {

std::shared_ptr<const Mechanism> mechanism(std::string_view name, std::size_t values,
                                           const Parameters& parameters) {
  Domain domain{flat_layout(values), {{0.0, 1.0}}};
  auto made = make_mechanism(name, std::move(domain), parameters);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

std::shared_ptr<const Mechanism> published(const char* name, double epsilon = 0.5) {
  return mechanism(name, 1024, {{"epsilon", epsilon}, {"whole", 4}, {"fraction", 5}});
}

std::shared_ptr<const Mechanism> label(double epsilon) {
  return mechanism("ldpfl-exact", 1, {{"epsilon", epsilon}, {"classes", 10}});
}

const Claim& find(const std::vector<Claim>& claims, const std::string& scope) {
  for (const Claim& claim : claims) {
    if (scope_text(claim) == scope) return claim;
  }
  ADD_FAILURE() << "no claim about: " << scope;
  return claims.front();
}

TEST(RecordClaims, TheSecondRandomizerOfLdpfl) {
  const auto claims = claims_of(RecordPrivacy{published("ldpfl-2"), nullptr, true, 30000});
  // 5,120 bits of ln(P(1|1)/P(1|0)) or its kin at even positions, 5,120 at odd ones.
  const double x = std::exp(0.5 / 5120.0);
  const double zero = 10.0 * x / (1.0 + 10.0 * x);
  const double even = std::max(std::log(10.0 / 11.0 / (1.0 - zero)), std::log(zero * 11.0));
  const double odd = std::log((1.0 - zero) * 1001.0);
  EXPECT_NEAR(find(claims, "record, features alone").epsilon, 5120.0 * (even + odd), 0.01);
  EXPECT_EQ(find(claims, "as published, one record").epsilon, 0.5);
  EXPECT_TRUE(std::isinf(find(claims, "record, label alone").epsilon));
  EXPECT_TRUE(std::isinf(find(claims, "record, encoder held fixed").epsilon));
  EXPECT_TRUE(std::isinf(find(claims, "client, whole training").epsilon));
  EXPECT_TRUE(std::isinf(record_claim(claims)->epsilon));
}

TEST(RecordClaims, TheFirstRandomizerIsOffByLess) {
  const auto claims = claims_of(RecordPrivacy{published("ldpfl-1"), nullptr, true, 30000});
  EXPECT_NEAR(find(claims, "record, features alone").epsilon, 0.909, 0.001);
}

TEST(RecordClaims, APublicEncoderLeavesARecordItsOwnReport) {
  const RecordPrivacy records{published("ldpfl-exact", 4.0), label(4.0), false, 30000};
  const auto claims = claims_of(records);
  const Claim* const record = record_claim(claims);
  ASSERT_NE(record, nullptr);
  EXPECT_LE(record->epsilon, 8.0);
  EXPECT_GT(record->epsilon, 7.999);
  EXPECT_TRUE(record->assumption.empty());
  const double client = find(claims, "client, whole training").epsilon;
  EXPECT_GE(client, 30000.0 * record->epsilon);
  EXPECT_NEAR(client, 240000.0, 30.0);
  for (const Claim& claim : claims) {
    EXPECT_FALSE(scope_text(claim).starts_with("as published")) << "its claim is true";
  }
}

TEST(RecordClaims, AnEncoderOfTheClientsOwnCostsARecordAllReports) {
  const RecordPrivacy records{published("ldpfl-exact", 4.0), label(4.0), true, 30000};
  const auto claims = claims_of(records);
  EXPECT_EQ(record_claim(claims)->epsilon, find(claims, "client, whole training").epsilon);
  EXPECT_GT(record_claim(claims)->epsilon, 239000.0);
  const Claim& fixed = find(claims, "record, encoder held fixed");
  EXPECT_LE(fixed.epsilon, 8.0);
  EXPECT_FALSE(fixed.assumption.empty());
  EXPECT_EQ(client_claim(claims)->epsilon, record_claim(claims)->epsilon);
}

}  // namespace
}  // namespace sotto
