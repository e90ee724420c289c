// The authority's side of X.509: keys, certificates and lists of revoked ones.
#include <arpa/inet.h>
#include <openssl/err.h>

#include "identity/x509.h"

namespace sotto::identity {
namespace {

/// Clocks of nodes may be behind the authority's.
constexpr long kEarlier = -300;

tl::unexpected<Error> broken(const std::string& what) {
  ERR_clear_error();
  return fail(ErrorKind::kInternal, "OpenSSL: " + what);
}

/// 127 random bits: no counter to keep, and nobody guesses the next.
Owned<ASN1_INTEGER> draw_serial() {
  const Owned<BIGNUM> number(BN_new());
  if (!number || BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1) return {};
  return Owned<ASN1_INTEGER>(BN_to_ASN1_INTEGER(number.get(), nullptr));
}

bool add_extension(X509* certificate, X509V3_CTX& context, int id, const std::string& value) {
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// All that certificates of the authority and of nodes have in common. `issuer` null: itself.
Result<Certificate> begin(EVP_PKEY* key, const std::string& name, X509* issuer, int days) {
  Certificate certificate(X509_new());
  const Owned<ASN1_INTEGER> serial = draw_serial();
  const auto* const text = reinterpret_cast<const unsigned char*>(name.data());
  if (!certificate || !serial || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      X509_set_serialNumber(certificate.get(), serial.get()) != 1 ||
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kEarlier) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(certificate.get()), days, 0, nullptr) == nullptr ||
      X509_set_pubkey(certificate.get(), key) != 1 ||
      X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate.get()), NID_commonName,
                                 MBSTRING_UTF8, text, static_cast<int>(name.size()), -1, 0) != 1) {
    return broken("cannot make a certificate");
  }
  X509* const from = issuer == nullptr ? certificate.get() : issuer;
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(from)) != 1) {
    return broken("cannot name the issuer");
  }
  return certificate;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string alternative_names(const Member& member) {
  std::string text = "URI:urn:sotto:role:" + std::string(name_of(member.role)) +
                     ",URI:urn:sotto:sign:" + to_hex(member.sign_key);
  if (member.seal_key) text += ",URI:urn:sotto:seal:" + to_hex(*member.seal_key);
  for (const std::string& host : member.hosts) text += (is_address(host) ? ",IP:" : ",DNS:") + host;
  return text;
}

}  // namespace

Result<KeyPair> make_key() {
  KeyPair key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));  // EVP_EC_gen casts
  if (!key) return broken("cannot make a P-256 key");
  return key;
}

Result<CaParts> make_ca(int days) {
  SOTTO_TRY(KeyPair key, make_key());
  // Two federations must not share an issuer's name: lists are found by it.
  const Owned<ASN1_INTEGER> random = draw_serial();
  if (!random) return broken("no random bits");
  const std::string name = "Sotto federation " + serial_text(random.get()).substr(0, 16);
  SOTTO_TRY(Certificate certificate, begin(key.get(), name, nullptr, days));
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate.get(), certificate.get(), nullptr, nullptr, 0);
  if (!add_extension(certificate.get(), context, NID_basic_constraints,
                     "critical,CA:TRUE,pathlen:0") ||
      !add_extension(certificate.get(), context, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(certificate.get(), context, NID_subject_key_identifier, "hash") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) {
    return broken("cannot sign the authority's certificate");
  }
  return CaParts{std::move(certificate), std::move(key)};
}

Result<Certificate> make_certificate(const CaParts& ca, EVP_PKEY* key, const Member& member,
                                     int days) {
  SOTTO_TRY(Certificate certificate, begin(key, member.name, ca.certificate.get(), days));
  // A node is not trusted for longer than what vouches for it.
  const ASN1_TIME* const last = X509_get0_notAfter(ca.certificate.get());
  if (ASN1_TIME_compare(X509_get0_notAfter(certificate.get()), last) > 0 &&
      X509_set1_notAfter(certificate.get(), last) != 1) {
    return broken("cannot set the end of a certificate");
  }
  X509V3_CTX context;
  X509V3_set_ctx(&context, ca.certificate.get(), certificate.get(), nullptr, nullptr, 0);
  // A shuffler is a server for clients and a client of the server.
  const std::string usage = member.role == Role::kClient ? "clientAuth" : "serverAuth,clientAuth";
  if (!add_extension(certificate.get(), context, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(certificate.get(), context, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(certificate.get(), context, NID_ext_key_usage, usage) ||
      !add_extension(certificate.get(), context, NID_subject_key_identifier, "hash") ||
      !add_extension(certificate.get(), context, NID_authority_key_identifier, "keyid:always") ||
      !add_extension(certificate.get(), context, NID_subject_alt_name, alternative_names(member)) ||
      X509_sign(certificate.get(), ca.key.get(), EVP_sha256()) == 0) {
    return broken("cannot sign a certificate");
  }
  return certificate;
}

Result<RevokedList> make_revoked(const CaParts& ca, X509_CRL* before, X509* revoked) {
  RevokedList list(before == nullptr ? X509_CRL_new() : X509_CRL_dup(before));
  const Owned<ASN1_TIME> moment(ASN1_TIME_adj(nullptr, std::time(nullptr), 0, kEarlier));
  // Nodes have no one to ask for a newer list, so this one does not end before the authority.
  const ASN1_TIME* const end = X509_get0_notAfter(ca.certificate.get());
  if (!list || !moment || X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(ca.certificate.get())) != 1 ||
      X509_CRL_set1_lastUpdate(list.get(), moment.get()) != 1 ||
      X509_CRL_set1_nextUpdate(list.get(), end) != 1) {
    return broken("cannot make the list of revoked certificates");
  }
  if (revoked != nullptr) {
    Owned<X509_REVOKED> entry(X509_REVOKED_new());
    if (!entry || X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(revoked)) != 1 ||
        X509_REVOKED_set_revocationDate(entry.get(), moment.get()) != 1 ||
        X509_CRL_add0_revoked(list.get(), entry.get()) != 1) {
      return broken("cannot put a certificate on the list");
    }
    static_cast<void>(entry.release());  // the list owns it
  }
  X509_CRL_sort(list.get());
  if (X509_CRL_sign(list.get(), ca.key.get(), EVP_sha256()) == 0) {
    return broken("cannot sign the list of revoked certificates");
  }
  return list;
}

}  // namespace sotto::identity
