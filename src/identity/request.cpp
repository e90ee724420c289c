// Signed requests: Ed25519 over a canonical encoding of everything that gives a request meaning.
//
//   "sotto request v2" | audience | method | client | recipe | round | number |
//   length of the body | BLAKE2b-512 of the body
//
// Texts carry their length in front, numbers are little-endian and of fixed width, so no two
// requests have the same encoding.
#include <sodium.h>

#include <cstring>

#include "identity/key_files.h"

namespace sotto::identity {
namespace {

// Version 1 carried a nonce and the time, and was at the mercy of clocks.
constexpr unsigned char kVersion = 2;
constexpr std::string_view kDomain = "sotto request v2";

static_assert(crypto_sign_BYTES == 64);
static_assert(crypto_generichash_BYTES_MAX == 64);

struct Parts {
  std::uint64_t number = 0;
  std::array<unsigned char, crypto_sign_BYTES> signature{};
};

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out += text;
}

std::string message_of(const RequestFacts& facts, const Parts& parts,
                       std::span<const std::byte> body) {
  std::string message(kDomain);
  put_text(message, facts.audience);
  put_text(message, facts.method);
  put_text(message, facts.client);
  put_text(message, facts.recipe);
  put(message, facts.round);
  put(message, parts.number);
  put(message, static_cast<std::uint64_t>(body.size()));
  std::array<unsigned char, crypto_generichash_BYTES_MAX> digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(body.data()), body.size(), nullptr, 0);
  message.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return message;
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// Nothing for another length or version.
std::optional<Parts> parts_of(std::span<const unsigned char> token) {
  if (token.size() != kTokenBytes || token[0] != kVersion) return std::nullopt;
  Parts parts;
  token = token.subspan(1);
  for (std::size_t i = 0; i < 8; ++i) parts.number |= std::uint64_t{token[i]} << (8 * i);
  token = token.subspan(8);
  std::memcpy(parts.signature.data(), token.data(), parts.signature.size());
  return parts;
}

tl::unexpected<Refusal> refuse(Fault fault, std::string message) {
  return tl::unexpected<Refusal>(Refusal{fault, std::move(message)});
}

}  // namespace

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::kMalformed:
      return "malformed";
    case Fault::kForeign:
      return "foreign";
    case Fault::kExpired:
      return "expired";
    case Fault::kRevoked:
      return "revoked";
    case Fault::kWrongRole:
      return "wrong-role";
    case Fault::kOtherSender:
      return "other-sender";
    case Fault::kBehind:
      return "behind";
    case Fault::kBadSignature:
      return "bad-signature";
    case Fault::kDuplicate:
      return "duplicate";
    case Fault::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

Error Refusal::error() const {
  switch (fault) {
    case Fault::kMalformed:
      return {ErrorKind::kCorrupt, message};
    case Fault::kUnavailable:
    case Fault::kBehind:  // signed anew, it will be taken
      return {ErrorKind::kIo, message};
    default:
      return {ErrorKind::kRefused, message};
  }
}

Token sign_request(const SignKey& key, const RequestFacts& facts, std::span<const std::byte> body,
                   std::uint64_t number) {
  sodium_ready();
  Parts parts;
  parts.number = number;
  const std::string message = message_of(facts, parts, body);
  crypto_sign_detached(parts.signature.data(), nullptr, bytes_of(message), message.size(),
                       key.secret.data());
  std::string text(1, static_cast<char>(kVersion));
  put(text, parts.number);
  text.append(reinterpret_cast<const char*>(parts.signature.data()), parts.signature.size());
  Token token{};
  std::memcpy(token.data(), text.data(), token.size());
  return token;
}

Admitted<Member> verify_request(const Trust& trust, ReplayGuard& guard, Role sender,
                                std::string_view certificate_pem,
                                std::span<const unsigned char> token, const RequestFacts& facts,
                                std::span<const std::byte> body, Time at) {
  sodium_ready();
  const std::optional<Parts> parts = parts_of(token);
  if (!parts) {
    return refuse(Fault::kMalformed, "the signature must have version 2 and " +
                                         std::to_string(kTokenBytes) + " bytes");
  }
  auto member = trust.identify(certificate_pem, at);
  if (!member) return member;
  if (member->role != sender) {
    return refuse(Fault::kWrongRole, "'" + member->name + "' is a " +
                                         std::string(name_of(member->role)) + ", not a " +
                                         std::string(name_of(sender)));
  }
  if (member->name != facts.client) {
    return refuse(
        Fault::kOtherSender,
        "the request is by another sender than the certificate of '" + member->name + "'");
  }
  const std::string message = message_of(facts, *parts, body);
  if (crypto_sign_verify_detached(parts->signature.data(), bytes_of(message), message.size(),
                                  member->sign_key.data()) != 0) {
    return refuse(Fault::kBadSignature,
                  "the signature of '" + member->name +
                      "' does not cover this request: recipient, method, round, recipe or body "
                      "differ from what was signed");
  }
  // Last: only what is genuine is remembered, so nobody fills the memory for others.
  if (auto first = guard.admit(member->name, parts->number); !first) {
    return tl::unexpected<Refusal>(first.error());
  }
  return member;
}

}  // namespace sotto::identity
