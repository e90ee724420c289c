#include "shuffle/ticket.h"

#include <sodium.h>

#include "base/sha256.h"

namespace sotto::rpc {

static_assert(std::tuple_size_v<Ticket> == crypto_auth_hmacsha256_BYTES);
static_assert(std::tuple_size_v<TicketKey> == crypto_auth_hmacsha256_KEYBYTES);

namespace {

/// HMAC-SHA256.
std::array<std::byte, 32> authenticate(const unsigned char* key, const std::string& text) {
  std::array<std::byte, 32> code{};
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(code.data()),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(), key);
  return code;
}

}  // namespace

TicketKey make_ticket_key(const identity::SealKey& server, const Tag& run, RoundId round) {
  return authenticate(server.secret.data(),
                      "sotto ticket key 1\n" + tag_hex(run) + '\n' + std::to_string(round) + '\n');
}

std::string sender_of(const std::string& name) { return sha256_hex(name); }

Ticket make_ticket(const TicketKey& key, const Tag& run, RoundId round, std::size_t group,
                   const std::string& sender) {
  const std::string text = "sotto ticket 1\n" + tag_hex(run) + '\n' + std::to_string(round) + '\n' +
                           std::to_string(group) + '\n' + sender + '\n';
  return authenticate(reinterpret_cast<const unsigned char*>(key.data()), text);
}

bool same_ticket(const Ticket& a, const Ticket& b) {
  return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sotto::rpc
