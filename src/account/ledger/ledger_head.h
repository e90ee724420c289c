// The head file: FILE.head beside FILE, which remembers how far the ledger had come.
//
// It is written after each commit and never ahead of it, so what it names is always in the chain.
// A ledger that was replaced by an older copy, or lost its newest entries together with its own
// record of them, does not contain it. It is replaced by a rename, so a crash leaves the old one or
// the new one; the file that is renamed carries the lock, so two processes never mix.
#pragma once

#include <filesystem>
#include <optional>

#include "sotto/ledger.h"

namespace sotto {

std::filesystem::path head_file_of(const std::filesystem::path& ledger);

/// Nothing where there is no such file; an error where it is not a head file.
Result<std::optional<LedgerHead>> read_head(const std::filesystem::path& file);
/// Does nothing where a later head is there already. Only its owner may read the file.
Result<void> write_head(const std::filesystem::path& file, const LedgerHead& head);

/// The same for the head file of a ledger.
Result<std::optional<LedgerHead>> read_head_file(const std::filesystem::path& ledger);
Result<void> write_head_file(const std::filesystem::path& ledger, const LedgerHead& head);

}  // namespace sotto
