// First inputs of the identity targets, made by the code that they test.
#include <sodium.h>
#include <stdlib.h>

#include "base/file.h"
#include "identity/key_files.h"
#include "seeds.h"
#include "sotto/policy.h"

namespace sotto::fuzz {
namespace {

using make::Bytes;

Bytes file(const std::filesystem::path& path) { return read_file(path).value(); }

/// What is inside a sealed chunk of the task "fuzz" in round 7.
Bytes chunk_plaintext(const Bytes& envelope) {
  Bytes out;
  make::put_little(out, 1, 1);  // version
  constexpr std::string_view kTask = "fuzz";
  std::array<unsigned char, 16> digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(kTask.data()), kTask.size(), nullptr,
                     0);
  for (const unsigned char byte : digest) make::put_little(out, byte, 1);
  make::put_little(out, 7, 4);  // round
  make::put_little(out, 0, 8);  // position
  make::put_little(out, envelope.size(), 4);
  out.insert(out.end(), envelope.begin(), envelope.end());
  out.resize(out.size() + 5);  // padding
  return out;
}

}  // namespace

void write_identity(const SeedFolder& seeds, const Bytes& envelope) {
  identity::sodium_ready();
  std::string name = (std::filesystem::temp_directory_path() / "sotto-seeds-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return;
  const auto fed = std::filesystem::path(name) / "fed";
  using identity::Role;
  const auto authority =
      identity::Authority::create(fed, {{Role::kServer, "server"}, {Role::kClient, "a"}});
  if (authority && authority->revoke("a")) {
    for (const char* const path : {"server/cert.pem", "a/cert.pem", "a/ca.pem", "a/crl.pem",
                                   "a/key.pem", "a/sign.key", "a/server.pub", "server/seal.key"}) {
      std::string plain(path);
      plain[plain.find('/')] = '-';
      seeds.add("x509", plain, file(fed / path));
    }
    seeds.add("request", "certificate", file(fed / "a/cert.pem"));
  }
  std::error_code code;
  std::filesystem::remove_all(name, code);

  const auto token = identity::sign_request(identity::SignKey::generate(),
                                            {"server", "method", "a", 1, ""}, {}, 1);
  const auto bytes = std::as_bytes(std::span(token));
  seeds.add("request", "token", Bytes(bytes.begin(), bytes.end()));
  seeds.add("sealed", "plaintext", chunk_plaintext(envelope));
  identity::Policy policy;
  policy.mechanisms = {"srr"};
  policy.shuffle = {"shuffler"};
  policy.models = {"linear"};
  policy.recipes = {"any"};
  policy.epsilon_per_round = 1.0;
  policy.epsilon = 8.0;
  policy.rounds = 10;
  policy.min_batch = 100;
  policy.unit_epsilon = 0.5;
  seeds.add("policy", "all_keys", make::bytes_of(identity::policy_text(policy)));
}

}  // namespace sotto::fuzz
