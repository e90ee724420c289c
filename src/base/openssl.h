// Objects of OpenSSL that free themselves.
#pragma once

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace sotto {

struct FreeOpenssl {
  void operator()(X509* object) const { X509_free(object); }
  void operator()(X509_CRL* object) const { X509_CRL_free(object); }
  void operator()(X509_STORE* object) const { X509_STORE_free(object); }
  void operator()(X509_STORE_CTX* object) const { X509_STORE_CTX_free(object); }
  void operator()(X509_EXTENSION* object) const { X509_EXTENSION_free(object); }
  void operator()(X509_REVOKED* object) const { X509_REVOKED_free(object); }
  void operator()(EVP_PKEY* object) const { EVP_PKEY_free(object); }
  void operator()(EVP_PKEY_CTX* object) const { EVP_PKEY_CTX_free(object); }
  void operator()(EVP_MD_CTX* object) const { EVP_MD_CTX_free(object); }
  void operator()(EVP_CIPHER* object) const { EVP_CIPHER_free(object); }
  void operator()(EVP_CIPHER_CTX* object) const { EVP_CIPHER_CTX_free(object); }
  void operator()(EVP_MAC* object) const { EVP_MAC_free(object); }
  void operator()(EVP_MAC_CTX* object) const { EVP_MAC_CTX_free(object); }
  void operator()(ASN1_STRING* object) const { ASN1_STRING_free(object); }  // numbers, times too
  void operator()(BIGNUM* object) const { BN_free(object); }
  void operator()(BIO* object) const { BIO_free(object); }
  void operator()(GENERAL_NAMES* object) const { GENERAL_NAMES_free(object); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

}  // namespace sotto
