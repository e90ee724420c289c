// What a ledger file holds, for people and tools: read and checked without changing it.
#include "account/ledger/ledger_file.h"
#include "account/ledger/ledger_head.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

LedgerReport::Own own_report(const Book& book, const std::string& name) {
  return {name, book.spending_of_owner(name).spent(), book.limits_of_owner(name) != nullptr};
}

/// What a file holds, after the checks that `checks` makes inside the same transaction.
template <class Checks>
Result<LedgerReport> report_of(const fs::path& file, const Checks& checks) {
  SOTTO_TRY(const auto database, open_for_reading(file));
  SOTTO_TRY(auto transaction, Transaction::begin(*database, Transaction::Kind::kRead));
  Book book;
  SOTTO_CHECK(catch_up(*database, book));
  SOTTO_CHECK(checks(*database, book));
  LedgerReport report;
  report.head = book.head();
  for (const Book::Account& account : book.accounts()) {
    report.accounts.push_back({account.client, account.dataset, account.spending.spent()});
  }
  report.whole = own_report(book, "");
  for (const std::string& name : book.declared()) {
    report.declared.push_back(own_report(book, name));
  }
  return report;
}

}  // namespace

Result<LedgerReport> read_ledger(const fs::path& file) {
  return report_of(file, [](const Database&, const Book&) { return Result<void>(); });
}

Result<LedgerReport> verify_ledger(const fs::path& file, const std::optional<LedgerHead>& anchor) {
  SOTTO_TRY(const auto remembered, read_head_file(file));
  return report_of(file, [&](const Database& database, const Book& book) -> Result<void> {
    SOTTO_CHECK(check_content(database, book));
    if (made_meanwhile(file, remembered, book)) {
      SOTTO_CHECK(verify_ledger(file));
    } else {
      SOTTO_CHECK(check_head(database, book, remembered));
    }
    if (!anchor) return {};
    SOTTO_TRY(const bool inside, in_chain(database, book, *anchor));
    if (inside) return {};
    return fail(ErrorKind::kCorrupt, file.string() + ": the ledger never ended at " +
                                         std::to_string(anchor->entries) + ":" + anchor->hash +
                                         ": it has " + std::to_string(book.head().entries) +
                                         " entries and another history");
  });
}

}  // namespace sotto
