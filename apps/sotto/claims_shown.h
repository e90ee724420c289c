// Claims for people: the table that `run` and `account` print, and what it comes down to.
#pragma once

#include <string>
#include <vector>

#include "sotto/certificate.h"
#include "sotto/claims.h"

namespace sotto::cli {

/// Lines of at most 96 characters, the later ones after `indent`.
std::string wrapped(const std::string& text, const std::string& indent = "");

/// Every claim with epsilon and delta; theorems and assumptions below, by number.
std::string claims_table(const std::vector<Claim>& claims);

/// One plain sentence: what a client is promised over the whole training, or would be if the coins
/// were its own.
std::string promise(const std::vector<Claim>& claims, Coins coins = Coins::kClients);

/// Whose coins hide the clients, and what follows: a line.
std::string coins_line(Coins coins);

/// The same about a single record, where clients randomize record by record; else empty.
std::string record_promise(const std::vector<Claim>& claims);

}  // namespace sotto::cli
