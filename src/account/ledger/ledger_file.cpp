#include "account/ledger/ledger_file.h"

#include <array>

#include "account/ledger/ledger_head.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace sotto {
namespace {

constexpr std::uint64_t kApplication = 0x536F7474;  // "Sott"
constexpr std::uint64_t kVersion = 1;

constexpr std::array<std::string_view, 3> kTables = {
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, "
    "hash TEXT NOT NULL)",
    "CREATE TABLE log (entry INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE report (charge INTEGER PRIMARY KEY, bytes BLOB NOT NULL)"};

tl::unexpected<Error> corrupt(const Database& database, const std::string& what) {
  return fail(ErrorKind::kCorrupt, database.file() + ": " + what);
}

tl::unexpected<Error> tampered(const Database& database, const std::string& what) {
  return corrupt(database, "the ledger was changed or damaged: " + what +
                               ". Put back the newest sound copy of it and its head file.");
}

/// A file that SQLite has just made, or began to make before it was interrupted.
Result<bool> is_new(const Database& database) {
  SOTTO_TRY(const auto tables, database.number("SELECT count(*) FROM sqlite_schema"));
  SOTTO_TRY(const auto application, database.number("PRAGMA application_id"));
  SOTTO_TRY(const auto version, database.number("PRAGMA user_version"));
  return tables == 0 && application == 0 && version == 0;
}

Result<void> make_tables(const Database& database) {
  SOTTO_TRY(auto transaction, Transaction::begin(database, Transaction::Kind::kWrite));
  SOTTO_TRY(const bool still_new, is_new(database));
  if (!still_new) return {};  // another process was faster
  for (const std::string_view table : kTables) {
    SOTTO_CHECK(database.run(std::string(table).c_str()));
  }
  SOTTO_TRY(auto head, database.prepare("INSERT INTO head VALUES (1, 0, ?)"));
  SOTTO_CHECK(head.with(first_hash()).run());
  SOTTO_CHECK(database.run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str()));
  SOTTO_CHECK(database.run(("PRAGMA user_version = " + std::to_string(kVersion)).c_str()));
  return transaction.commit();
}

/// That the tables are ours and there is nothing else: a trigger would be someone else's hand.
Result<void> check_format(const Database& database) {
  SOTTO_TRY(const auto application, database.number("PRAGMA application_id"));
  if (application != kApplication) return corrupt(database, "not a ledger of Sotto");
  SOTTO_TRY(const auto version, database.number("PRAGMA user_version"));
  if (version != kVersion) {
    return corrupt(database, "a ledger of format " + std::to_string(version) +
                                 "; this program knows format " + std::to_string(kVersion));
  }
  SOTTO_TRY(auto schema, database.prepare("SELECT sql FROM sqlite_schema ORDER BY name"));
  std::size_t count = 0;
  while (true) {
    SOTTO_TRY(const bool row, schema.next());
    if (!row) break;
    if (count >= kTables.size() || schema.text(0) != kTables[count]) {
      return tampered(database, "its tables are not those that Sotto makes");
    }
    ++count;
  }
  if (count != kTables.size()) return tampered(database, "a table is missing");
  return {};
}

std::string entries_text(std::uint64_t count) {
  return with_commas(count) + (count == 1 ? " entry" : " entries");
}

tl::unexpected<Error> older(const std::string& file, const LedgerHead& remembered,
                            const std::string& what) {
  return fail(ErrorKind::kCorrupt,
              file + ": " + what + ", but " + head_file_of(file).filename().string() +
                  " remembers " + entries_text(remembered.entries) +
                  ": an older copy was put in its place, or its newest entries were removed. Put "
                  "back the newest copy. Where that is lost, so is the record of what was spent "
                  "since, and this ledger allows nothing more.");
}

}  // namespace

Result<std::unique_ptr<Database>> open_for_writing(const std::filesystem::path& file,
                                                   const std::optional<LedgerHead>& head) {
  std::error_code code;
  const bool remembered = head && head->entries > 0;
  if (remembered && !std::filesystem::exists(file, code)) {
    return older(file.string(), *head, "the ledger is missing");
  }
  SOTTO_TRY(auto database, Database::open(file, Database::Mode::kWrite));
  SOTTO_TRY(const bool fresh, is_new(*database));
  if (fresh && remembered) return older(file.string(), *head, "the ledger is empty");
  if (fresh) {
    SOTTO_CHECK(database->use_write_ahead_log());
    SOTTO_CHECK(make_tables(*database));
    sync_folder(file.has_parent_path() ? file.parent_path() : ".");
  }
  SOTTO_CHECK(check_format(*database));
  SOTTO_CHECK(database->use_write_ahead_log());
  SOTTO_CHECK(database->run("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON"));
  return database;
}

Result<std::unique_ptr<Database>> open_for_reading(const std::filesystem::path& file) {
  SOTTO_TRY(auto database, Database::open(file, Database::Mode::kRead));
  SOTTO_CHECK(check_format(*database));
  return database;
}

Result<void> catch_up(const Database& database, Book& book) {
  SOTTO_TRY(auto ends, database.prepare("SELECT entries, hash FROM head"));
  SOTTO_TRY(const bool has_end, ends.next());
  if (!has_end) return tampered(database, "its head record is missing");
  const LedgerHead end{ends.number(0), std::string(ends.text(1))};
  SOTTO_CHECK(ends.run());

  SOTTO_TRY(auto rows, database.prepare("SELECT entry, body, hash FROM log WHERE entry > ? "
                                        "ORDER BY entry"));
  rows.with(book.head().entries);
  while (true) {
    SOTTO_TRY(const bool row, rows.next());
    if (!row) break;
    const std::uint64_t number = book.head().entries + 1;
    const auto wrong = [&](const std::string& what) {
      return tampered(database, "entry " + with_commas(number) + what);
    };
    if (rows.number(0) != number) return wrong(" is missing");
    const auto entry = decode(rows.text(1));
    if (!entry) return wrong(" is not one that Sotto writes");
    if (const auto applied = book.apply(*entry, rows.text(1)); !applied) {
      return wrong(" is " + applied.error().message);
    }
    if (book.head().hash != rows.text(2)) {
      return wrong(" does not have the hash that it was entered with");
    }
  }
  if (end.entries != book.head().entries || end.hash != book.head().hash) {
    return tampered(database, "its head record says " + entries_text(end.entries) +
                                  ", and the log has " + with_commas(book.head().entries));
  }
  return {};
}

Result<void> check_content(const Database& database, const Book& book) {
  SOTTO_TRY(const std::string quick, database.text("PRAGMA quick_check(1)"));
  if (quick != "ok") return tampered(database, quick);
  SOTTO_TRY(auto rows, database.prepare("SELECT charge, bytes FROM report ORDER BY charge"));
  auto expected = book.kept().begin();
  while (true) {
    SOTTO_TRY(const bool row, rows.next());
    const bool wanted = expected != book.kept().end();
    if (!row && !wanted) return {};
    const std::uint64_t charge = !row      ? expected->first
                                 : !wanted ? rows.number(0)
                                           : std::min(rows.number(0), expected->first);
    const std::string name = "the report that is bound to entry " + with_commas(charge);
    if (!row || (wanted && expected->first < rows.number(0))) {
      return tampered(database, name + " is missing");
    }
    if (!wanted || rows.number(0) < expected->first) {
      return tampered(database, name + " should not be there");
    }
    const auto bytes = rows.bytes(1);
    const Book::Item* const item = book.find_item(charge);
    if (bytes.size() != expected->second || sha256_hex(bytes) != Book::hash_of(*item)) {
      return tampered(database, name + " does not have the hash that it was bound with");
    }
    ++expected;
  }
}

Result<bool> in_chain(const Database& database, const Book& book, const LedgerHead& earlier) {
  if (earlier.entries > book.head().entries) return false;
  if (earlier.entries == 0) return earlier.hash == first_hash();
  SOTTO_TRY(auto row, database.prepare("SELECT hash FROM log WHERE entry = ?"));
  row.with(earlier.entries);
  SOTTO_TRY(const bool found, row.next());
  return found && row.text(0) == earlier.hash;
}

Result<void> check_head(const Database& database, const Book& book,
                        const std::optional<LedgerHead>& remembered) {
  const std::uint64_t entries = book.head().entries;
  if (!remembered) {
    if (entries == 0) return {};
    return corrupt(database,
                   "the ledger has " + entries_text(entries) + ", but its head file " +
                       head_file_of(database.file()).filename().string() +
                       " is missing, so nobody can tell whether this is the newest copy. Put the "
                       "head file back; where it is lost, this ledger allows nothing more.");
  }
  SOTTO_TRY(const bool inside, in_chain(database, book, *remembered));
  if (inside) return {};
  if (remembered->entries > entries) {
    return older(database.file(), *remembered, "the ledger has " + entries_text(entries));
  }
  return tampered(database, "entry " + with_commas(remembered->entries) +
                                " is not the one that its head file remembers");
}

Result<void> check_witness(const Database& database, const Book& book,
                           const std::filesystem::path& witness) {
  SOTTO_TRY(const auto remembered, read_head(witness));
  if (!remembered) return {};
  SOTTO_TRY(const bool inside, in_chain(database, book, *remembered));
  if (inside) return {};
  return fail(
      ErrorKind::kRefused,
      database.file() + ": not the ledger that this identity has spent from, or an older " +
          "copy of it: " + witness.string() + " remembers " + entries_text(remembered->entries) +
          ", and this ledger " +
          (remembered->entries > book.head().entries ? "has " + with_commas(book.head().entries)
                                                     : std::string("has others")) +
          ". Use the newest copy of that ledger. Where it is lost, so is the record of " +
          "what was spent; whoever begins anew all the same removes " + witness.string() + ".");
}

bool made_meanwhile(const std::filesystem::path& file, const std::optional<LedgerHead>& remembered,
                    const Book& book) {
  std::error_code code;
  return !remembered && book.head().entries > 0 &&
         std::filesystem::exists(head_file_of(file), code);
}

}  // namespace sotto
