// Who belongs to the federation: a chain of one link, checked at a given moment against the newest
// list of revoked certificates.
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <mutex>

#include "base/file.h"
#include "identity/x509.h"

namespace sotto::identity {
namespace {

/// Tells one version of a file from the next: lists are replaced whole, by rename.
struct Stamp {
  ::ino_t node = 0;
  ::off_t size = -1;
  ::timespec changed{};
  static Stamp of(const std::filesystem::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    return {info.st_ino, info.st_size, info.st_mtim};
  }
  friend bool operator==(const Stamp& a, const Stamp& b) {
    return a.node == b.node && a.size == b.size && a.changed.tv_sec == b.changed.tv_sec &&
           a.changed.tv_nsec == b.changed.tv_nsec;
  }
};

Fault fault_of(int code) {
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Fault::kExpired;
    case X509_V_ERR_CERT_REVOKED:
      return Fault::kRevoked;
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return Fault::kUnavailable;
    default:
      return Fault::kForeign;
  }
}

tl::unexpected<Refusal> refuse(Fault fault, std::string message) {
  return tl::unexpected<Refusal>(Refusal{fault, std::move(message)});
}

}  // namespace

struct Trust::State {
  Certificate ca;
  std::filesystem::path crl_file;
  std::mutex mutex;
  Stamp stamp;
  std::shared_ptr<X509_STORE> store;  // null: the list could not be read

  Result<void> load() {
    store.reset();
    SOTTO_TRY(const std::string pem, read_text(crl_file, kLargestPem));
    SOTTO_TRY(const RevokedList list, revoked_from_pem(pem, crl_file.string()));
    if (X509_CRL_verify(list.get(), X509_get0_pubkey(ca.get())) != 1) {
      ERR_clear_error();
      return fail(ErrorKind::kCorrupt,
                  crl_file.string() + ": not a list of this federation's authority");
    }
    Owned<X509_STORE> fresh(X509_STORE_new());
    if (!fresh || X509_STORE_add_cert(fresh.get(), ca.get()) != 1 ||
        X509_STORE_add_crl(fresh.get(), list.get()) != 1 ||
        X509_STORE_set_flags(fresh.get(), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_X509_STRICT) != 1) {
      ERR_clear_error();
      return fail(ErrorKind::kInternal, "OpenSSL: no store of certificates");
    }
    store = std::move(fresh);
    return {};
  }

  Result<std::shared_ptr<X509_STORE>> current() {
    const std::scoped_lock lock(mutex);
    const Stamp found = Stamp::of(crl_file);
    if (store && found == stamp) return store;
    SOTTO_CHECK(load());
    stamp = found;  // taken before reading: a change in between is read next time
    return store;
  }
};

Result<Trust> Trust::open(const std::filesystem::path& ca_file,
                          const std::filesystem::path& crl_file) {
  SOTTO_TRY(const std::string pem, read_text(ca_file, kLargestPem));
  auto state = std::make_shared<State>();
  SOTTO_TRY(state->ca, certificate_from_pem(pem, ca_file.string()));
  if (X509_check_ca(state->ca.get()) != 1) {
    return fail(ErrorKind::kCorrupt, ca_file.string() + ": not an authority's certificate");
  }
  state->crl_file = crl_file;
  SOTTO_TRY(const auto store, state->current());
  return Trust(std::move(state));
}

Admitted<Member> Trust::identify(std::string_view certificate_pem, Time at) const {
  const auto certificate = certificate_from_pem(certificate_pem, "the sender's certificate");
  if (!certificate) return refuse(Fault::kMalformed, certificate.error().message);
  const auto store = state_->current();
  if (!store) return refuse(Fault::kUnavailable, store.error().message);
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (!context ||
      X509_STORE_CTX_init(context.get(), store->get(), certificate->get(), nullptr) != 1) {
    ERR_clear_error();
    return refuse(Fault::kUnavailable, "OpenSSL: no context to check a certificate in");
  }
  X509_STORE_CTX_set_time(
      context.get(), 0,
      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());
  const int verified = X509_verify_cert(context.get());
  const int code = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  if (verified != 1 || code != X509_V_OK) {
    return refuse(fault_of(code),
                  std::string("the sender's certificate: ") + X509_verify_cert_error_string(code));
  }
  auto member = member_of(certificate->get(), "the sender's certificate");
  if (!member) return refuse(Fault::kMalformed, member.error().message);
  return std::move(*member);
}

}  // namespace sotto::identity
