// What errors call the accounts of a ledger.
#pragma once

#include <filesystem>
#include <string>

#include "account/ledger/ledger_book.h"

namespace sotto {

/// "client 'ada', data set 'x'".
std::string account_text(const Book& book, const std::string& client, const std::string& dataset);

/// The error for an account that was not declared, with the nearest one that was.
tl::unexpected<Error> no_such_account(const std::filesystem::path& file, const Book& book,
                                      const std::string& name);

/// "; did you mean ...?" where an account is there under a name that is nearly the same.
std::string similar_account(const Book& book, const std::string& client,
                            const std::string& dataset);

}  // namespace sotto
