// Who was asked in a round, without a list of names: the server gives every client that it asks a
// ticket, the client shows it to the shuffler, and the shuffler can tell that it is the server's.
// The server does not learn who showed one.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "shuffle/contract.h"

namespace sotto::rpc {

using TicketKey = std::array<std::byte, 32>;
using Ticket = std::array<std::byte, 32>;

/// The server's key of a round. It is the same when the server begins the round anew, so that
/// tickets stay good whether or not the shuffler has heard of that.
TicketKey make_ticket_key(const identity::SealKey& server, const Tag& run, RoundId round);
/// How a shuffler calls a member: the SHA-256 of its name, in hex.
std::string sender_of(const std::string& name);
/// HMAC-SHA256 over everything that the ticket is for.
Ticket make_ticket(const TicketKey& key, const Tag& run, RoundId round, std::size_t group,
                   const std::string& sender);
/// In a time that does not tell where they differ.
bool same_ticket(const Ticket& a, const Ticket& b);

}  // namespace sotto::rpc
