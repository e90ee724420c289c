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

/// Nothing where there is no head file; an error where it is not one.
Result<std::optional<LedgerHead>> read_head_file(const std::filesystem::path& ledger);

/// Does nothing where a later head is there already.
Result<void> write_head_file(const std::filesystem::path& ledger, const LedgerHead& head);

}  // namespace sotto
