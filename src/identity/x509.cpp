#include "identity/x509.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>

namespace sotto::identity {
namespace {

/// A key that is locked by a passphrase is refused, and no terminal is asked for one.
int no_passphrase(char*, int, int, void*) { return -1; }

template <class T>
using ReadPem = T* (*)(BIO*, T**, pem_password_cb*, void*);

/// OpenSSL's readers skip what stands before the object; a file of ours has nothing there.
template <class T>
Result<Owned<T>> from_pem(std::string_view pem, ReadPem<T> read, const std::string& place,
                          const std::string& what) {
  const auto refuse = [&] { return fail(ErrorKind::kCorrupt, place + ": not " + what); };
  if (pem.size() > kLargestPem || !pem.starts_with("-----BEGIN ")) return refuse();
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Owned<T> object(bio ? read(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  const bool whole = object && BIO_pending(bio.get()) == 0;
  ERR_clear_error();
  if (!whole) return refuse();
  return object;
}

template <class Write>
std::string written(const Write& write) {
  const Owned<BIO> bio(BIO_new(BIO_s_secmem()));
  if (!bio || write(bio.get()) != 1) return "";
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string text_of(const ASN1_STRING* text) {
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

Time time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return Time{};
  return Time(std::chrono::seconds(::timegm(&parts)));
}

std::string common_name(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  if (X509_NAME_entry_count(subject) != 1) return "";
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return "";
  return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
}

std::string address_text(const ASN1_STRING* address) {
  const std::string bytes = text_of(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return "";
  const char* const shown = ::inet_ntop(family, bytes.data(), text.data(), text.size());
  return shown == nullptr ? "" : shown;
}

/// One "urn:sotto:..." name; false where it is unknown, or there already.
bool read_uri(std::string_view uri, Member& member, bool& has_role, bool& has_sign) {
  constexpr std::string_view kRole = "urn:sotto:role:";
  constexpr std::string_view kSign = "urn:sotto:sign:";
  constexpr std::string_view kSeal = "urn:sotto:seal:";
  if (uri.starts_with(kRole) && !has_role) {
    const auto role = role_called(uri.substr(kRole.size()));
    if (role) member.role = *role;
    return has_role = role.has_value();
  }
  if (uri.starts_with(kSign) && !has_sign) {
    const auto key = key_from_hex(uri.substr(kSign.size()));
    if (key) member.sign_key = *key;
    return has_sign = key.has_value();
  }
  if (uri.starts_with(kSeal) && !member.seal_key) {
    const auto key = key_from_hex(uri.substr(kSeal.size()));
    if (key) member.seal_key = *key;
    return key.has_value();
  }
  return false;
}

bool read_names(const GENERAL_NAMES* names, Member& member) {
  bool has_role = false;
  bool has_sign = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_URI) {
      const std::string uri = text_of(name->d.uniformResourceIdentifier);
      if (!read_uri(uri, member, has_role, has_sign)) return false;
    } else if (name->type == GEN_DNS) {
      member.hosts.push_back(text_of(name->d.dNSName));
    } else if (name->type == GEN_IPADD) {
      member.hosts.push_back(address_text(name->d.iPAddress));
    } else {
      return false;
    }
  }
  return has_role && has_sign && member.seal_key.has_value() == (member.role == Role::kServer);
}

}  // namespace

Time now() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::string_view name_of(Role role) {
  return role == Role::kServer ? "server" : role == Role::kShuffler ? "shuffler" : "client";
}

Result<Role> role_called(std::string_view name) {
  for (const Role role : {Role::kServer, Role::kShuffler, Role::kClient}) {
    if (name == name_of(role)) return role;
  }
  return fail(ErrorKind::kUsage,
              "unknown role '" + std::string(name) + "'; valid: server, shuffler, client");
}

Result<Certificate> certificate_from_pem(std::string_view pem, const std::string& place) {
  return from_pem<X509>(pem, PEM_read_bio_X509, place, "one X.509 certificate in PEM form");
}

Result<RevokedList> revoked_from_pem(std::string_view pem, const std::string& place) {
  return from_pem<X509_CRL>(pem, PEM_read_bio_X509_CRL, place,
                            "one list of revoked certificates in PEM form");
}

Result<KeyPair> key_from_pem(std::string_view pem, const std::string& place) {
  return from_pem<EVP_PKEY>(pem, PEM_read_bio_PrivateKey, place,
                            "one private key without passphrase in PEM form");
}

std::string to_pem(X509* certificate) {
  return written([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string to_pem(X509_CRL* list) {
  return written([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list); });
}

std::string to_pem(EVP_PKEY* key) {
  return written([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string serial_text(const ASN1_INTEGER* serial) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* const digits = number ? BN_bn2hex(number.get()) : nullptr;
  std::string text = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool is_revoked(X509_CRL* list, X509* certificate) {
  X509_REVOKED* found = nullptr;
  return X509_CRL_get0_by_cert(list, &found, certificate) != 0;
}

Result<Member> member_of(X509* certificate, const std::string& place) {
  Member member;
  member.name = common_name(certificate);
  member.serial = serial_text(X509_get0_serialNumber(certificate));
  member.not_before = time_of(X509_get0_notBefore(certificate));
  member.not_after = time_of(X509_get0_notAfter(certificate));
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  if (!check_name(member.name) || !names || !read_names(names.get(), member)) {
    return fail(ErrorKind::kCorrupt, place + ": not a certificate that 'sotto keys' issues");
  }
  return member;
}

Result<void> check_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool valid = !name.empty() && name.size() <= 64 && plain(name.front()) &&
                     plain(name.back()) && std::all_of(name.begin(), name.end(), [&](char c) {
                       return plain(c) || c == '-' || c == '.' || c == '_';
                     });
  if (valid && name != "ca") return {};
  return fail(ErrorKind::kUsage, "name '" + std::string(name) +
                                     "': valid are up to 64 lower-case letters and digits, with "
                                     "'-', '.' or '_' inside, and not 'ca'");
}

}  // namespace sotto::identity
