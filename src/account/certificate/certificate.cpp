// Making a certificate, and deriving it a second time.
//
// Checking rebuilds the whole document from the content alone and compares it with the file, part
// by part: what follows from the content is the same or is named with both values. So nothing in
// the file is taken on trust but the content itself, for which the signature stands.
#include "sotto/certificate.h"

#include <algorithm>

#include "account/certificate/certificate_form.h"
#include "account/certificate/signing.h"
#include "account/claim_text.h"
#include "base/file.h"
#include "base/text.h"
#include "sotto/version.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostNamed = 5;  // differences that are named one by one

/// "claims[2].epsilon_hex: expected 0x1p+0, found 0x1p+1", for every leaf in which they differ.
void differences(const Json& expected, const Json& found, const std::string& path,
                 std::vector<std::string>& all) {
  if (expected == found) return;
  const auto shown = [](const Json& value) {
    const std::string text = value.dump();
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  };
  if (expected.is_object() && found.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const auto other = found.find(key);
      if (other == found.end()) {
        all.push_back(path + key + ": missing");
      } else {
        differences(value, *other, path + key + '.', all);
      }
    }
    for (const auto& [key, value] : found.items()) {
      if (!expected.contains(key)) all.push_back(path + key + ": unknown field");
    }
    return;
  }
  if (expected.is_array() && found.is_array() && expected.size() == found.size()) {
    const std::string list = path.substr(0, path.size() - 1);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      differences(expected[i], found[i], list + '[' + std::to_string(i) + "].", all);
    }
    return;
  }
  std::string name = path.substr(0, path.empty() ? 0 : path.size() - 1);
  all.push_back(name + ": expected " + shown(expected) + ", found " + shown(found));
}

CertificateFinding compared(std::string what, std::string detail, const Json& expected,
                            const Json& found, const std::string& path) {
  std::vector<std::string> all;
  differences(expected, found, path, all);
  if (all.empty()) return {std::move(what), true, std::move(detail)};
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : "; ") + all[i];
  }
  if (all.size() > kMostNamed) {
    text += "; and " + with_commas(all.size() - kMostNamed) + " more";
  }
  return {std::move(what), false, std::move(text)};
}

/// With the defaults of the mechanism, so that a later default cannot change what was certified.
Result<Parameters> all_parameters(const MechanismSpec& spec) {
  SOTTO_TRY(const MechanismInfo* const info, find_mechanism(spec.name));
  Parameters all = spec.parameters;
  for (const ParameterInfo& parameter : info->parameters) {
    if (parameter.default_value) all.emplace(parameter.name, *parameter.default_value);
  }
  return all;
}

Result<Mechanisms> build(const std::vector<MechanismSpec>& specs) {
  Mechanisms all;
  for (const MechanismSpec& spec : specs) {
    SOTTO_TRY(auto mechanism, make_mechanism(spec.name, spec.domain, spec.parameters));
    all.push_back(std::move(mechanism));
  }
  return all;
}

/// A document without one of its keys; of a list, each entry without it.
Json without(Json json, const char* key) {
  if (json.is_object()) json.erase(key);
  if (json.is_array()) {
    for (Json& entry : json) entry = without(std::move(entry), key);
  }
  return json;
}

/// Of every mechanism in the list this part.
Json parts(const Json& mechanisms, const char* key) {
  Json all = Json::array();
  for (const Json& mechanism : mechanisms) {
    const auto at = mechanism.find(key);
    all.push_back(at == mechanism.end() ? Json(nullptr) : *at);
  }
  return all;
}

/// What must follow of the claims of an older format: numbers, in rows that it had.
Json older_claims(const Json& claims) {
  Json rows = Json::array();
  for (const Json& claim : claims) {
    const auto text = claim.find("scope");
    const ScopeText* const known = text != claim.end() && text->is_string()
                                       ? find_scope(text->get_ref<const std::string&>())
                                       : nullptr;
    if (known != nullptr &&
        (known->scope.colluders != Colluders::kNone || known->scope.unit == Unit::kParticipation)) {
      continue;
    }
    rows.push_back(without(without(claim, "theorem"), "assumption"));
  }
  return rows;
}

CertificateFinding compare_claims(const Json& expected, const Json& found,
                                  const CheckedCertificate& checked) {
  const auto claims = found.find("claims");
  const Json theirs = claims == found.end() ? Json(nullptr) : *claims;
  if (checked.format != kOlderFormat) {
    return compared("claims", counted(checked.claims.size(), "claim") + ", to the last digit",
                    expected["claims"], theirs, "claims.");
  }
  if (checked.content.exposure.sampling < 1.0) {
    return {"claims", false,
            std::string(kOlderFormat) +
                " accounts for clients that are picked in secret as if they always were equally "
                "many, which promises too much; " +
                kCertificateFormat + " does not: let the training be certified by this version"};
  }
  const Json ours = older_claims(expected["claims"]);
  return compared(
      "claims",
      counted(ours.size(), "claim") + " of " + kOlderFormat + ", numbers to the last digit", ours,
      theirs.is_array() ? older_claims(theirs) : theirs, "claims.");
}

std::vector<CertificateFinding> compare_all(const Json& expected, const Json& found,
                                            const CheckedCertificate& checked) {
  const Json& ours = expected["mechanisms"];
  const Json& theirs = found["mechanisms"];
  const auto rest = [](const Json& body) {
    return without(without(without(body, "mechanisms"), "claims"), "signature");
  };
  const auto built = [](const Json& mechanisms) {
    return without(without(mechanisms, "constants"), "guarantee");
  };
  const std::size_t count = checked.mechanism_ids.size();
  const std::string who = count == 1
                              ? checked.mechanism_ids[0] + ", built from its parameters and domain"
                              : counted(count, "mechanism") + ", built from parameters and domains";
  std::size_t numbers = 0;
  for (const Json& mechanism : ours) numbers += mechanism["constants"].size();
  return {compared("fields", "all known, none missing", rest(expected), rest(found), ""),
          compared("mechanism", who, built(ours), built(theirs), "mechanisms."),
          compared("thresholds", counted(numbers, "number") + " that decide the distribution",
                   parts(ours, "constants"), parts(theirs, "constants"), "constants."),
          compared("guarantee", "derived from the thresholds", parts(ours, "guarantee"),
                   parts(theirs, "guarantee"), "guarantees."),
          compare_claims(expected, found, checked)};
}

/// An error for a mechanism that was used and is not among those that are specified.
Result<void> all_specified(const Exposure& exposure, const Mechanisms& mechanisms) {
  for (const auto& used : exposure.mechanisms()) {
    const auto same = [&](const auto& mechanism) { return mechanism->id() == used->id(); };
    if (std::ranges::any_of(mechanisms, same)) continue;
    return fail(ErrorKind::kUsage, "no certificate: how " + std::string(used->id()) +
                                       " was made is not among the " +
                                       counted(mechanisms.size(), "mechanism") + " of the content");
  }
  return {};
}

}  // namespace

Result<std::string> make_certificate(const CertificateContent& content, const SigningKey& key) {
  CertificateContent full = content;
  for (MechanismSpec& spec : full.mechanisms) {
    SOTTO_TRY(spec.parameters, all_parameters(spec));
  }
  SOTTO_TRY(const Mechanisms mechanisms, build(full.mechanisms));
  SOTTO_CHECK(all_specified(full.exposure, mechanisms));
  const std::vector<Claim> claims = claims_of(full.exposure);
  try {
    Json body = certificate_body(full, mechanisms, claims, SOTTO_VERSION, key.public_key());
    // What could not be read back would be worth nothing.
    const auto again = certificate_content(body);
    if (!again) return fail(ErrorKind::kUsage, "no certificate: " + again.error().message);
    SOTTO_TRY(body["signature"], key.sign(body.dump()));
    return certificate_text(body);
  } catch (const Json::exception&) {
    return fail(ErrorKind::kUsage, "no certificate: a name in it is not valid UTF-8");
  }
}

Result<void> write_certificate(const std::filesystem::path& path, const CertificateContent& content,
                               const SigningKey& key) {
  SOTTO_TRY(const std::string text, make_certificate(content, key));
  return write_file_atomically(path, text);
}

bool CheckedCertificate::holds() const noexcept {
  return std::all_of(findings.begin(), findings.end(),
                     [](const CertificateFinding& finding) { return finding.holds; });
}

Result<CheckedCertificate> examine_certificate(
    std::string_view text, const std::optional<std::string>& expected_public_key) {
  SOTTO_TRY(const Json whole, parse_certificate(text));
  CheckedCertificate checked;
  checked.format = whole["format"].get<std::string>();
  SOTTO_TRY(CertificateParts read, certificate_content(whole));
  checked.content = std::move(read.content);
  SOTTO_TRY(checked.sotto_version, text_field(whole, "sotto"));
  SOTTO_TRY(checked.public_key, text_field(whole, "public_key"));
  SOTTO_TRY(const std::string signature, text_field(whole, "signature"));

  const bool intact =
      signature_holds(checked.public_key, signature, without(whole, "signature").dump());
  checked.findings.push_back(
      {"signature", intact,
       intact ? "over all of the file, by the key in it"
              : "it does not belong to this text and key: something was changed after signing"});
  checked.signer_known = expected_public_key.has_value();
  const bool same = !checked.signer_known || *expected_public_key == checked.public_key;
  checked.findings.push_back(
      {"signer", same,
       !checked.signer_known ? "not compared: anyone can sign; give the key that you expect"
       : same                ? checked.public_key
              : "expected " + *expected_public_key + ", found " + checked.public_key});

  const auto mechanisms = build(checked.content.mechanisms);
  if (!mechanisms) {
    checked.findings.push_back({"mechanism", false, mechanisms.error().message});
    return checked;
  }
  for (const auto& mechanism : *mechanisms) {
    checked.mechanism_ids.emplace_back(mechanism->id());
    checked.guarantees.push_back(mechanism->guarantee());
  }
  for (std::size_t turn = 0; turn < read.variants.size(); ++turn) {
    for (const std::vector<std::size_t>& places : read.variants[turn]) {
      auto& together = checked.content.exposure.turns[turn].variants.emplace_back();
      for (const std::size_t place : places) together.push_back((*mechanisms)[place]);
    }
  }
  checked.claims = claims_of(checked.content.exposure);
  const Json expected = certificate_body(checked.content, *mechanisms, checked.claims,
                                         checked.sotto_version, checked.public_key, checked.format);
  for (CertificateFinding& finding : compare_all(expected, whole, checked)) {
    if (!finding.holds && checked.sotto_version != SOTTO_VERSION) {
      finding.detail += " (written by sotto " + checked.sotto_version + ", derived again by " +
                        SOTTO_VERSION + ')';
    }
    checked.findings.push_back(std::move(finding));
  }
  return checked;
}

Result<CheckedCertificate> check_certificate(
    std::string_view text, const std::optional<std::string>& expected_public_key) {
  SOTTO_TRY(CheckedCertificate checked, examine_certificate(text, expected_public_key));
  if (checked.holds()) return checked;
  std::string all;
  for (const CertificateFinding& finding : checked.findings) {
    if (!finding.holds) all += (all.empty() ? "" : "\n") + finding.what + ": " + finding.detail;
  }
  return fail(ErrorKind::kCorrupt, "the certificate does not hold: " + all);
}

}  // namespace sotto
