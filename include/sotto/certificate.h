// The privacy certificate of a run: what was guaranteed, so that anyone can check it again from
// nothing but the file.
//
// It holds all that claims follow from (mechanisms, parameters, domains, integer thresholds,
// rounds, batch sizes), the claims themselves, and an Ed25519 signature over all of it. Checking
// builds the mechanisms anew and derives thresholds, guarantees and claims a second time: a number
// that does not follow from the others is found whoever signed it. What nothing follows from
// (rounds, batch sizes, whose data it was) is the signer's word: the signature, the ledger's hash
// and the recipe's fingerprint tie it to a key, a ledger and a recipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/claims.h"
#include "sotto/ledger.h"
#include "sotto/mechanism.h"

namespace sotto {

/// An Ed25519 key pair.
class SigningKey {
 public:
  /// A fresh one, for a run that has no key: it still ties all parts of the file together.
  static Result<SigningKey> generate();
  /// From a PEM file as `openssl genpkey -algorithm ed25519` writes it.
  static Result<SigningKey> read(const std::filesystem::path& pem);

  /// 32 bytes in hexadecimal.
  const std::string& public_key() const noexcept { return public_key_; }
  /// 64 bytes in hexadecimal.
  Result<std::string> sign(std::string_view message) const;

 private:
  struct Pair;
  explicit SigningKey(std::shared_ptr<const Pair> pair, std::string public_key)
      : pair_(std::move(pair)), public_key_(std::move(public_key)) {}
  std::shared_ptr<const Pair> pair_;
  std::string public_key_;
};

/// The public key in a PEM file, as `openssl pkey -pubout` writes it, in hexadecimal.
Result<std::string> read_public_key(const std::filesystem::path& pem);

/// What a mechanism is made from.
struct MechanismSpec {
  std::string name;
  Parameters parameters;
  Domain domain;
};

/// Whose random bits hide the clients. What was drawn from a seed that others know hides nothing.
enum class Coins {
  kUnsaid,      // a certificate of an older format does not say
  kClients,     // each client's own, from its operating system
  kSimulation,  // of the recipe's seed, by one process
  kRehearsal,   // of the recipe's seed, by processes of a federation
};
/// "clients' own system randomness", "public seed (simulation)", "public seed (rehearsal)"; for
/// kUnsaid "not said".
std::string_view name_of(Coins coins);
/// Whether claims made with these coins protect anybody; otherwise they describe a plan.
constexpr bool protects(Coins coins) { return coins == Coins::kClients; }

/// What a certificate is made of; all else follows from it.
struct CertificateContent {
  /// How each mechanism of the exposure was made, in any order: they are recognised by identity.
  std::vector<MechanismSpec> mechanisms;
  Exposure exposure;
  std::optional<LedgerHead> ledger;  // where the ledger ended, if the run kept one
  std::uint64_t accounts = 0;        // of that ledger
  std::string recipe;                // its fingerprint; empty: there was none
  Coins coins = Coins::kSimulation;  // as far as the signer knows
};

/// The text of a certificate. Refuses content of which no valid one can be made.
Result<std::string> make_certificate(const CertificateContent& content, const SigningKey& key);
/// The same, as a file that is written whole or not at all.
Result<void> write_certificate(const std::filesystem::path& path, const CertificateContent& content,
                               const SigningKey& key);

/// One thing that was compared.
struct CertificateFinding {
  std::string what;  // "signature", "thresholds"
  bool holds = false;
  std::string detail;  // in words; where it does not hold, what is expected and what was found
};

struct CheckedCertificate {
  std::string format;         // "sotto.certificate.v3"
  std::string sotto_version;  // that wrote it
  CertificateContent content;
  std::vector<std::string> mechanism_ids;  // of content.mechanisms, in their order
  std::vector<Guarantee> guarantees;       // the same, as derived again
  std::vector<Claim> claims;
  std::string public_key;
  bool signer_known = false;  // whether the key was compared with one that the reader expects
  std::vector<CertificateFinding> findings;

  bool holds() const noexcept;
};

/// Reads a certificate and derives again all that can be. An error where the text is no certificate
/// (broken, unknown or missing fields, another format); what does not hold is among the findings.
/// Of the format before this one the numbers of all claims must follow, their words need not.
Result<CheckedCertificate> examine_certificate(
    std::string_view text, const std::optional<std::string>& expected_public_key = std::nullopt);
/// The same, but anything that does not hold is an error too.
Result<CheckedCertificate> check_certificate(
    std::string_view text, const std::optional<std::string>& expected_public_key = std::nullopt);

}  // namespace sotto
