// An entry of the log: what happened, and the one text that stands for it.
//
// The text is what is hashed, so there is exactly one for each entry: a word and fields between
// tabs, doubles in the shortest form that reads back as the same double. Names hold no control
// characters, so nothing needs escaping. decode() accepts what encode() writes and nothing else.
//
//   account    name                          (the owner's word: an account apart)
//   limits     client dataset epsilon_per_round epsilon delta rounds
//   charge     client dataset task round mechanism epsilon delta unit_epsilon units
//   bind       charge hash size              (size "-": only the hash is kept)
//   delivered  charge
//
// The owner's limits have no client: those of the whole file no data set either, those of an
// account apart its name as data set. Charges against them have the client and the same data set.
//
// The hash of an entry is SHA-256 over the hash of the one before it and its text; before the first
// one stand 64 zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sotto/ledger.h"

namespace sotto {

struct AccountEntry {
  std::string name;
};

using LimitsEntry = Ledger::AccountLimits;
using ChargeEntry = ChargeRequest;

struct BindEntry {
  std::uint64_t charge = 0;  // the number of its entry
  std::string hash;
  std::optional<std::uint64_t> size;  // of the bytes that are kept
};

struct DeliveredEntry {
  std::uint64_t charge = 0;
};

using Entry = std::variant<AccountEntry, LimitsEntry, ChargeEntry, BindEntry, DeliveredEntry>;

/// The names of limits, costs and accounts are checked here, once for all ways into the ledger.
Result<void> check(const Entry& entry);
/// Also that it is of one client and one data set, and not of the owner.
Result<void> check_named(const LimitsEntry& entry);
Result<void> check_named(const ChargeEntry& entry);

std::string encode(const Entry& entry);
/// Nothing where the text is not one that encode() writes.
std::optional<Entry> decode(std::string_view text);

/// Where every chain begins.
const std::string& first_hash();
std::string next_hash(std::string_view previous, std::string_view text);
/// 64 digits, lower case.
bool is_hash(std::string_view text);

}  // namespace sotto
