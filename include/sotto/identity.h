// Who is who in a federation: certificates, keys, bundles, and requests that prove their sender.
//
// One certificate authority stands behind a federation. Every node (server, shuffler, client) has a
// *bundle*, a folder with an X.509 certificate for mutual TLS (P-256), its private key, an Ed25519
// key that signs requests, the authority's certificate and its list of revoked ones. Name, role and
// the public part of the other keys stand in the certificate, so that whoever trusts the authority
// needs no further directory.
//
// TLS proves who holds a connection; a request's signature proves who wrote the request, for this
// recipient, method, round and recipe, once, and now. Sealed chunks are in sotto/sealed.h, what a
// client lets a server ask for in sotto/policy.h.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/keys.h"
#include "sotto/result.h"

namespace sotto::identity {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;
Time now();

enum class Role { kServer, kShuffler, kClient };
std::string_view name_of(Role role);
Result<Role> role_called(std::string_view name);

/// 64 lower-case digits, and back.
std::string to_hex(const PublicKey& key);
Result<PublicKey> key_from_hex(std::string_view text);

/// Signs requests (Ed25519).
struct SignKey {
  Secret<64> secret;
  PublicKey public_key{};
  static SignKey generate();
};
/// Opens what was sealed for the server (X25519).
struct SealKey {
  Secret<32> secret;
  PublicKey public_key{};
  static SealKey generate();
};

/// What a certificate says of its holder.
struct Member {
  std::string name;
  Role role = Role::kClient;
  std::string serial;  // hexadecimal
  PublicKey sign_key{};
  std::optional<PublicKey> seal_key;  // of a server
  std::vector<std::string> hosts;     // that a server or shuffler may be reached at
  Time not_before;
  Time not_after;
};

// ---- Refusals: every reason has a name of its own, for answers, logs and metrics --------------

enum class Fault {
  kMalformed,     // not a certificate, or not a signature of this version
  kForeign,       // the certificate is not this federation's
  kExpired,       // no longer or not yet valid
  kRevoked,       // on the authority's list
  kWrongRole,     // a client where a shuffler is expected
  kOtherSender,   // the request names another sender than the certificate
  kBehind,        // its number is below those that are still remembered
  kBadSignature,  // some covered byte is not the one that was signed
  kDuplicate,     // this very request was here before
  kUnavailable,   // the list of revoked certificates or the memory of requests cannot be read
};
/// "malformed", "foreign", ...
std::string_view name_of(Fault fault);

struct Refusal {
  Fault fault = Fault::kMalformed;
  std::string message;
  Error error() const;
};
template <class T>
using Admitted = tl::expected<T, Refusal>;

/// The authority's certificate and its list of revoked ones: who belongs to the federation. May be
/// used by all threads at once. When the file of revoked certificates is replaced, the next call
/// reads it; a file that cannot be read refuses everybody.
class Trust {
 public:
  static Result<Trust> open(const std::filesystem::path& ca_file,
                            const std::filesystem::path& crl_file);
  /// Who presents this certificate, if it is valid now.
  Admitted<Member> identify(std::string_view certificate_pem, Time at = now()) const;

 private:
  struct State;
  explicit Trust(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// ---- Bundles: a node's folder ------------------------------------------------------------------

struct Bundle {
  std::filesystem::path folder;
  Member self;
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;  // private; for the TLS library
  SignKey sign_key;
  std::optional<SealKey> seal_key;  // of a server
  PublicKey server_key{};           // what chunks are sealed to

  std::filesystem::path ca_file() const { return folder / "ca.pem"; }
  std::filesystem::path crl_file() const { return folder / "crl.pem"; }
  std::filesystem::path policy_file() const { return folder / "policy.toml"; }
  Result<Trust> trust() const { return Trust::open(ca_file(), crl_file()); }

  /// Refuses a bundle that is incomplete, expired or revoked, whose parts do not belong together,
  /// whose role is another, or whose private files others may read.
  static Result<Bundle> read(const std::filesystem::path& folder, Role role, Time at = now());
};

// ---- The authority: the folder that `sotto keys` keeps -----------------------------------------

struct NodeOptions {
  Role role = Role::kClient;
  std::string name;
  std::vector<std::string> hosts;  // names or addresses; empty: localhost
  int days = 365;
};

struct NodeRecord {
  enum class Status { kActive, kExpired, kRevoked };
  Member member;
  Status status = Status::kActive;
  std::filesystem::path bundle;  // empty where there is none in the folder
};
std::string_view name_of(NodeRecord::Status status);

class Authority {
 public:
  /// Makes the folder, the authority and the nodes; all of it appears at once or not at all.
  static Result<Authority> create(const std::filesystem::path& folder,
                                  const std::vector<NodeOptions>& nodes, int days = 3650);
  static Result<Authority> open(const std::filesystem::path& folder);

  /// A new certificate and bundle. A name is given again only when its last certificate is revoked
  /// or expired. Clients and shufflers need a server first: they carry its key.
  Result<NodeRecord> issue(const NodeOptions& node) const;
  /// Puts the certificate on the list and the list into every bundle of the folder.
  Result<NodeRecord> revoke(std::string_view name) const;
  /// Every certificate ever issued, by role, name and age.
  Result<std::vector<NodeRecord>> list(Time at = now()) const;

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path crl_file() const { return folder_ / "ca" / "crl.pem"; }

 private:
  explicit Authority(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

// ---- Signed requests ---------------------------------------------------------------------------

/// What a signature covers besides the body.
struct RequestFacts {
  std::string audience;  // name of the node that it is meant for, as in that node's certificate
  std::string method;    // "sotto.v2.Server/Join"
  std::string client;    // the sender's name
  std::uint64_t round = 0;
  std::string recipe;  // its fingerprint, or empty where there is none yet
};

/// Version, number and signature: what travels beside a request.
inline constexpr std::size_t kTokenBytes = 1 + 8 + 64;
using Token = std::array<unsigned char, kTokenBytes>;

/// `body`: every byte of the request as it travels. A request that is sent again is signed again,
/// with a new number.
Token sign_request(const SignKey& key, const RequestFacts& facts, std::span<const std::byte> body,
                   std::uint64_t number);

/// No request has a larger number: a recipient that asks for one is not believed.
inline constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 62;

/// The numbers of a sender's requests to one recipient. They rise, and begin with the clock
/// (microseconds) so that a process that starts again, and another one of the same identity, goes
/// on above. The clock is only a good guess: a recipient answers a number that is behind with the
/// largest that it has seen, and the sender jumps beyond it.
/// Thread-safe.
class RequestNumbers {
 public:
  using Clock = std::function<std::uint64_t()>;  // microseconds of any clock
  RequestNumbers();
  explicit RequestNumbers(Clock clock) : clock_(std::move(clock)) {}
  std::uint64_t next();
  /// From now on only numbers above this one; false where there are none.
  bool jump_beyond(std::uint64_t number);

 private:
  Clock clock_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;
};

/// Remembers which requests were seen: of each client the largest numbers, and that it takes none
/// below them. No clock is asked, so that none can shut a client out or let a request in twice.
/// Thread-safe.
class ReplayGuard {
 public:
  /// Requests of one client that may overtake one another.
  static constexpr std::size_t kWindow = 64;

  /// In memory alone: for tests, and for what does not outlive the process.
  static ReplayGuard in_memory();
  /// Kept in a file (SQLite) as well: a server that was killed and started again still knows.
  static Result<ReplayGuard> open(const std::filesystem::path& file);

  /// Takes the number, once.
  Admitted<void> admit(std::string_view client, std::uint64_t number);
  /// A client's next request must be above it to be sure to be taken; 0: any is.
  std::uint64_t largest(std::string_view client) const;

 private:
  struct State;
  explicit ReplayGuard(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// `facts` are the recipient's own: its name, the method that was called, the round and recipe that
/// the request says it is for and that the recipient works on.
/// Whether the request was written by the holder of this certificate, for these facts and this very
/// body, and is here for the first time. The sender's certificate is the one of the TLS connection,
/// and must be valid `at` this time.
Admitted<Member> verify_request(const Trust& trust, ReplayGuard& guard, Role sender,
                                std::string_view certificate_pem,
                                std::span<const unsigned char> token, const RequestFacts& facts,
                                std::span<const std::byte> body, Time at = now());

}  // namespace sotto::identity
