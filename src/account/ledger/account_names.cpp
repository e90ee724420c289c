#include "account/ledger/account_names.h"

#include "base/nearest.h"

namespace sotto {

std::string account_text(const Book& book, const std::string& client, const std::string& dataset) {
  if (dataset.empty()) return "client '" + client + "', the whole ledger";
  return "client '" + client + (book.is_declared(dataset) ? "', account '" : "', data set '") +
         dataset + "'";
}

tl::unexpected<Error> no_such_account(const std::filesystem::path& file, const Book& book,
                                      const std::string& name) {
  return fail(ErrorKind::kNotFound, file.string() + ": there is no account '" + name + "'" +
                                        did_you_mean(name, book.declared()) +
                                        "; declare it with: sotto ledger account add " +
                                        file.string() + " " + name);
}

std::string similar_account(const Book& book, const std::string& client,
                            const std::string& dataset) {
  constexpr std::size_t kMostCompared = 1000;
  std::vector<std::string> names;
  for (const Book::Account& account : book.accounts()) {
    if (names.size() == kMostCompared) break;
    if (account.dataset == dataset) names.push_back(account.client);
  }
  std::string hint = did_you_mean(client, names);
  if (!hint.empty()) return hint;
  names.clear();
  for (const Book::Account& account : book.accounts()) {
    if (names.size() == kMostCompared) break;
    if (account.client == client) names.push_back(account.dataset);
  }
  return did_you_mean(dataset, names);
}

}  // namespace sotto
