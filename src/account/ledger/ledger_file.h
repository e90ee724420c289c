// The ledger as a file: its tables, how it is made, and the checks that it has to pass.
//
//   log     entry, body, hash   the entries, numbered from 1, never changed
//   head    entries, hash       how many there are: one row, written with each transaction
//   report  charge, bytes       reports that may have to be sent again
//
// log is the truth. head and report must be what it says, the file as SQLite sees it sound, and
// FILE.head an earlier (or the same) end of the chain.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "account/ledger/ledger_book.h"
#include "account/ledger/ledger_database.h"

namespace sotto {

/// Opens the file for writing, with its tables made where it is new. `head` is what the head file
/// says, read before.
Result<std::unique_ptr<Database>> open_for_writing(const std::filesystem::path& file,
                                                   const std::optional<LedgerHead>& head);
/// Opens it for reading; it must be a ledger.
Result<std::unique_ptr<Database>> open_for_reading(const std::filesystem::path& file);

/// Applies what the log has beyond the book, and checks that both end where the head row says. To
/// be called inside a transaction, as are the following.
Result<void> catch_up(const Database& database, Book& book);

/// SQLite's own check, and the kept reports against their hashes.
Result<void> check_content(const Database& database, const Book& book);

/// Whether the chain once ended at `earlier`.
Result<bool> in_chain(const Database& database, const Book& book, const LedgerHead& earlier);
/// Refuses where the head file is missing or remembers what the ledger does not have.
Result<void> check_head(const Database& database, const Book& book,
                        const std::optional<LedgerHead>& remembered);
/// Refuses a ledger that is not the one, or older than the one, that a second head file remembers.
Result<void> check_witness(const Database& database, const Book& book,
                           const std::filesystem::path& witness);
/// Whether another process made the ledger and its head file after this one had looked for them.
bool made_meanwhile(const std::filesystem::path& file, const std::optional<LedgerHead>& remembered,
                    const Book& book);

}  // namespace sotto
