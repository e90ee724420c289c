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

/// Two tensors of different ranges, three rounds, no shuffler: quick to derive.
inline CertificateContent small_content() {
  auto layout = std::make_shared<Layout>();
  layout->add("0.weight", {2, 3}, TensorRole::kParameter);
  layout->add("0.bias", {3}, TensorRole::kBuffer);
  CertificateContent content;
  content.mechanism = "srr";
  content.parameters = {{"epsilon", 1.5}, {"precision", 2}, {"groups", 3}, {"step", 1}};
  content.domain = Domain{layout, {{0.0, 0.075}, {0.5, 0.25}}};
  content.exposure.rounds = 3;
  content.exposure.delta = 1e-5;
  content.ledger = LedgerHead{12, std::string(64, '7')};
  content.accounts = 4;
  content.recipe = std::string(64, '3');
  return content;
}

/// With a shuffler and all else that an exposure can have.
inline CertificateContent shuffled_content() {
  CertificateContent content = small_content();
  content.mechanism = "two-point";
  content.parameters = {{"epsilon", 1.0}};
  content.exposure.every_round = false;
  content.exposure.shuffle = ShuffleMode::kShuffler;
  content.exposure.split = 1;
  content.exposure.batches = {{900, 1}, {1000, 2}};
  content.exposure.audited_epsilon = 0.25;
  content.exposure.audit_confidence = 0.95;
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
