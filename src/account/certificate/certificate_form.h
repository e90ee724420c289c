// The form of a certificate: JSON with sorted keys. Every double stands there twice, in decimal for
// people ("epsilon") and as %a writes it ("epsilon_hex"); infinity is null and "inf". In the file
// it is indented by two and ends with a line break; signed is the same without any white space and
// without the signature.
#pragma once

#include <nlohmann/json.hpp>

#include "sotto/certificate.h"

namespace sotto {

inline constexpr const char* kCertificateFormat = "sotto.certificate.v3";
/// Read, not written: it says nothing of coins, honest members and rounds that were held, and
/// accounts for clients that were picked in secret as if they always were equally many.
inline constexpr const char* kOlderFormat = "sotto.certificate.v2";

/// The mechanisms of a certificate, built from their specifications, in the same order.
using Mechanisms = std::vector<std::shared_ptr<const Mechanism>>;

/// All of a certificate but its signature, in one of the two formats: what follows from the content
/// is derived here. Every mechanism of a turn must be one of `mechanisms`.
nlohmann::json certificate_body(const CertificateContent& content, const Mechanisms& mechanisms,
                                const std::vector<Claim>& claims, const std::string& version,
                                const std::string& public_key,
                                const std::string& format = kCertificateFormat);

/// The text of a certificate as JSON: refuses anything that is not byte for byte what writing it
/// again gives (so there are no keys twice, no other digits for the same number), and nesting or
/// sizes that no certificate has.
Result<nlohmann::json> parse_certificate(std::string_view text);
std::string certificate_text(const nlohmann::json& whole);

/// A certificate as read, its mechanisms not built yet.
struct CertificateParts {
  CertificateContent content;  // turns without variants
  /// Of every turn its variants, of these the places in content.mechanisms.
  std::vector<std::vector<std::vector<std::size_t>>> variants;
};

/// The content that a certificate speaks of. An error names what is missing or of the wrong kind.
Result<CertificateParts> certificate_content(const nlohmann::json& body);
Result<std::string> text_field(const nlohmann::json& object, const std::string& key);

}  // namespace sotto
