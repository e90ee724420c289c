// What the tests of certificates share: content, keys, and a forger who signs again.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flat_layout.h"
#include "sotto/certificate.h"

namespace sotto {

using Json = nlohmann::json;

inline const SigningKey& test_key() {
  static const SigningKey key = *SigningKey::generate();
  return key;
}

inline std::shared_ptr<const Mechanism> built(const MechanismSpec& spec) {
  auto mechanism = make_mechanism(spec.name, spec.domain, spec.parameters);
  EXPECT_TRUE(mechanism) << (mechanism ? "" : mechanism.error().message);
  return mechanism ? std::move(*mechanism) : nullptr;
}

/// Two tensors of different ranges, three rounds, no shuffler: quick to derive.
inline CertificateContent small_content() {
  auto layout = std::make_shared<Layout>();
  layout->add("0.weight", {2, 3}, TensorRole::kParameter);
  layout->add("0.bias", {3}, TensorRole::kBuffer);
  CertificateContent content;
  content.mechanisms = {{"srr",
                         {{"epsilon", 1.5}, {"precision", 2}, {"groups", 3}, {"step", 1}},
                         Domain{layout, {{0.0, 0.075}, {0.5, 0.25}}}}};
  content.exposure.turns = {turn_of(built(content.mechanisms[0]), 3)};
  content.exposure.delta = 1e-5;
  content.ledger = LedgerHead{12, std::string(64, '7')};
  content.accounts = 4;
  content.recipe = std::string(64, '3');
  return content;
}

/// With a shuffler and all else that an exposure can have.
inline CertificateContent shuffled_content() {
  CertificateContent content = small_content();
  content.mechanisms[0].name = "two-point";
  content.mechanisms[0].parameters = {{"epsilon", 1.0}};
  content.exposure.turns = {turn_of(built(content.mechanisms[0]), 3)};
  content.exposure.turns[0].batches = {{900, 1}, {1000, 2}};
  content.exposure.every_round = false;
  content.exposure.shuffle = ShuffleMode::kShuffler;
  content.exposure.split = 1;
  content.exposure.honest = 0.5;
  content.exposure.audited_epsilon = 0.25;
  content.exposure.audit_confidence = 0.95;
  return content;
}

/// Two turns: of the first the ranges moved once, the second sends another tensor with another
/// mechanism beside it, after delays that were meant to mix.
inline CertificateContent several_content() {
  const auto spec = [](const char* name, double epsilon, double radius, std::size_t weights) {
    return MechanismSpec{
        name, {{"epsilon", epsilon}}, Domain{flat_layout(weights), {{0.0, radius}}}};
  };
  CertificateContent content;
  content.mechanisms = {spec("two-point", 1.0, 0.5, 6), spec("two-point", 1.0, 0.25, 6),
                        spec("two-point", 0.5, 1.0, 3), spec("privunit", 2.0, 1.0, 8)};
  std::vector<std::shared_ptr<const Mechanism>> made;
  for (const MechanismSpec& each : content.mechanisms) made.push_back(built(each));
  Turn moved = turn_of(made[0], 4, 500);
  moved.variants.push_back({made[1]});
  Turn pair = turn_of(made[2], 2, 400);
  pair.variants[0].push_back(made[3]);
  content.exposure.turns = {moved, pair};
  content.exposure.shuffle = ShuffleMode::kLatency;
  content.exposure.split = 2;
  content.exposure.sampling = 0.5;
  content.exposure.population = 24;  // few: sizes take a while each
  content.exposure.honest = 0.75;
  content.exposure.turns[0].held = 5;
  content.coins = Coins::kRehearsal;
  return content;
}

inline std::string made_text(const CertificateContent& content) {
  const auto text = make_certificate(content, test_key());
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  return text ? *text : "";
}

/// Whatever was changed, signed anew by somebody else.
inline std::string forged(Json certificate) {
  static const SigningKey other = *SigningKey::generate();
  certificate.erase("signature");
  certificate["public_key"] = other.public_key();
  certificate["signature"] = *other.sign(certificate.dump());
  return certificate.dump(2) + '\n';
}

/// The names of what does not hold.
inline std::vector<std::string> broken(const CheckedCertificate& checked) {
  std::vector<std::string> names;
  for (const CertificateFinding& finding : checked.findings) {
    if (!finding.holds) names.push_back(finding.what);
  }
  return names;
}

}  // namespace sotto
