// OpenSSL's X.509 as Sotto uses it: certificates of P-256 keys whose alternative names say role and
// keys. What is read from others is checked field by field; what OpenSSL refuses becomes a Result.
//
//   URI urn:sotto:role:client      once
//   URI urn:sotto:sign:HEX         once: the Ed25519 key of signed requests
//   URI urn:sotto:seal:HEX         once, of a server: the X25519 key of sealed chunks
//   DNS, IP                        where a server or shuffler may be reached
#pragma once

#include <string>
#include <vector>

#include "base/openssl.h"
#include "sotto/identity.h"

namespace sotto::identity {

using Certificate = Owned<X509>;
using RevokedList = Owned<X509_CRL>;
using KeyPair = Owned<EVP_PKEY>;

/// No certificate, list or key of ours is larger.
inline constexpr std::size_t kLargestPem = std::size_t{1} << 24;

/// Exactly one object, without anything before or after it.
Result<Certificate> certificate_from_pem(std::string_view pem, const std::string& place);
Result<RevokedList> revoked_from_pem(std::string_view pem, const std::string& place);
Result<KeyPair> key_from_pem(std::string_view pem, const std::string& place);
std::string to_pem(X509* certificate);
std::string to_pem(X509_CRL* list);
std::string to_pem(EVP_PKEY* key);

/// What a certificate says; an error for one that no authority of Sotto issues.
Result<Member> member_of(X509* certificate, const std::string& place);
std::string serial_text(const ASN1_INTEGER* serial);
bool is_revoked(X509_CRL* list, X509* certificate);

/// Lower-case letters, digits and - . _ inside; 64 characters at most.
Result<void> check_name(std::string_view name);

// Issuing: x509_issue.cpp.

Result<KeyPair> make_key();
struct CaParts {
  Certificate certificate;
  KeyPair key;
};
Result<CaParts> make_ca(int days);
/// For `key`, by the authority.
Result<Certificate> make_certificate(const CaParts& ca, EVP_PKEY* key, const Member& member,
                                     int days);
/// A list of what `before` has (null: nothing) and, unless null, one certificate more.
Result<RevokedList> make_revoked(const CaParts& ca, X509_CRL* before, X509* revoked);

}  // namespace sotto::identity
