// The ledger on SQLite. Every step is one transaction: take the lock, read what others have
// entered, decide, enter, commit durably, and only then answer. A step that fails leaves nothing
// behind, and the state in memory is read anew from the file.
#include "sotto/ledger.h"

#include <mutex>

#include "account/ledger/account_names.h"
#include "account/ledger/ledger_book.h"
#include "account/ledger/ledger_database.h"
#include "account/ledger/ledger_file.h"
#include "account/ledger/ledger_head.h"
#include "base/sha256.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

class SqliteLedger final : public Ledger {
 public:
  SqliteLedger(fs::path file, std::unique_ptr<Database> database, Book book)
      : file_(std::move(file)), database_(std::move(database)), book_(std::move(book)) {}

  /// From now on it serves its owner.
  Result<void> serve_owner(const OwnLedgerOptions& options) {
    if (!options.account.empty() && !book_.is_declared(options.account)) {
      return no_such_account(file_, book_, options.account);
    }
    own_ = options.account;
    witness_ = options.witness;
    if (witness_.empty()) return {};
    {
      SOTTO_TRY(auto transaction, Transaction::begin(*database_, Transaction::Kind::kRead));
      SOTTO_CHECK(take_in());
      SOTTO_CHECK(check_witness(*database_, book_, witness_));
    }
    return remember();
  }

  Result<void> declare(const std::string& name) {
    return write([&]() -> Result<void> {
      SOTTO_CHECK(check(Entry(AccountEntry{name})));
      auto added = append(AccountEntry{name});
      if (added || added.error().kind != ErrorKind::kCorrupt) return added;
      return fail(ErrorKind::kRefused,
                  place() + "'" + name + "' cannot be declared: " + added.error().message);
    });
  }

  Result<void> set_limits(const std::string& client, const std::string& dataset,
                          const Limits& limits) override {
    const AccountLimits one{client, dataset, limits};
    return set_limits_all({&one, 1});
  }

  Result<void> set_limits_all(std::span<const AccountLimits> accounts) override {
    return write([&]() -> Result<void> {
      for (const AccountLimits& one : accounts) {
        SOTTO_CHECK(own_ ? set_own(one.limits) : set_one(one));
      }
      return {};
    });
  }

  Result<Spent> spent(const std::string& client, const std::string& dataset) const override {
    return read([&]() -> Result<Spent> {
      if (own_) {
        if (book_.limits_of_owner(*own_) != nullptr) return book_.spending_of_owner(*own_).spent();
        return fail(ErrorKind::kNotFound, place() + "no limits were set for " + own_text());
      }
      const Book::Account* const account = book_.find_account(client, dataset);
      if (account != nullptr) return account->spending.spent();
      return fail(ErrorKind::kNotFound, place() + "there is no account of " +
                                            account_text(book_, client, dataset) +
                                            similar_account(book_, client, dataset));
    });
  }

  Result<bool> has_account(const std::string& client, const std::string& dataset) const override {
    return read([&]() -> Result<bool> {
      if (own_) return book_.limits_of_owner(*own_) != nullptr;
      return book_.find_account(client, dataset) != nullptr;
    });
  }

  Result<std::vector<Result<Charge>>> charge_all(std::span<const ChargeRequest> requests) override {
    std::vector<Result<Charge>> answers;
    const auto charge_each = [&]() -> Result<void> {
      for (ChargeRequest request : requests) {
        if (own_) request.dataset = *own_;
        const Book::Item* item = nullptr;
        if (const auto allowed = may_charge(request, item); !allowed) {
          answers.push_back(tl::unexpected<Error>(allowed.error()));
          continue;
        }
        if (item == nullptr) {
          SOTTO_CHECK(append(request));
          item = book_.find_item(book_.head().entries);
        }
        answers.push_back(book_.charge_of(*item));
      }
      return {};
    };
    SOTTO_CHECK(write(charge_each));
    return answers;
  }

  Result<void> bind(const Charge& charge, std::span<const std::byte> report) override {
    const BindEntry entry{charge.id, sha256_hex(report), report.size()};
    return write([&] { return bind_one(entry, report); });
  }

  Result<void> bind_hashes(std::span<const BoundHash> reports) override {
    return write([&]() -> Result<void> {
      for (const BoundHash& report : reports) {
        SOTTO_CHECK(bind_one({report.charge, report.hash, std::nullopt}, {}));
      }
      return {};
    });
  }

  Result<std::vector<std::byte>> report(const Charge& charge) const override {
    return read([&]() -> Result<std::vector<std::byte>> {
      SOTTO_TRY(const Book::Item* const item, find(charge.id));
      if (item->state == ChargeState::kCharged) {
        return fail(ErrorKind::kNotFound, place() + "no report is bound to " + name_of(*item));
      }
      if (!book_.kept().contains(charge.id)) {
        return fail(ErrorKind::kNotFound,
                    place() + "the report of " + name_of(*item) +
                        " is not kept: only its hash was bound, or it was delivered long ago");
      }
      SOTTO_TRY(auto row, database_->prepare("SELECT bytes FROM report WHERE charge = ?"));
      row.with(charge.id);
      SOTTO_TRY(const bool found, row.next());
      const auto bytes = row.bytes(0);
      if (!found || sha256_hex(bytes) != Book::hash_of(*item)) {
        return fail(ErrorKind::kCorrupt,
                    place() + "the report of " + name_of(*item) + " is damaged; nothing is sent");
      }
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    });
  }

  Result<void> delivered(const Charge& charge) override {
    return write([&]() -> Result<void> {
      SOTTO_TRY(const Book::Item* const item, find(charge.id));
      if (item->state == ChargeState::kDelivered) return {};
      if (item->state == ChargeState::kCharged) {
        return fail(ErrorKind::kRefused, place() + "no report is bound to " + name_of(*item) +
                                             ", so none can have been delivered");
      }
      return append(DeliveredEntry{charge.id});
    });
  }

  Result<LedgerHead> head() const override {
    return read([&]() -> Result<LedgerHead> { return book_.head(); });
  }

 private:
  std::string place() const { return file_.string() + ": "; }

  std::string name_of(const Book::Item& item) const {
    const Book::Account& account = book_.account_of(item);
    return "entry " + std::to_string(item.id) + " (" +
           account_text(book_, account.client, account.dataset) + ", round " +
           std::to_string(item.round) + ")";
  }

  Result<const Book::Item*> find(std::uint64_t charge) const {
    const Book::Item* const item = book_.find_item(charge);
    if (item != nullptr) return item;
    return fail(ErrorKind::kRefused,
                place() + "entry " + std::to_string(charge) + " is not a charge");
  }

  std::string own_text() const {
    return own_->empty() ? "the whole ledger" : "account '" + *own_ + "'";
  }

  Result<void> set_own(const Limits& limits) {
    const AccountLimits entry{"", *own_, limits};
    SOTTO_CHECK(check(Entry(entry)));
    const Limits* const before = book_.limits_of_owner(*own_);
    return before != nullptr && *before == limits ? Result<void>() : append(entry);
  }

  Result<void> set_one(const AccountLimits& one) {
    SOTTO_CHECK(check_named(one));
    if (book_.is_declared(one.dataset)) return owners_name(one.dataset);
    const Book::Account* const account = book_.find_account(one.client, one.dataset);
    const bool same = account != nullptr && account->spending.limits() == one.limits;
    return same ? Result<void>() : append(one);
  }

  tl::unexpected<Error> owners_name(const std::string& name) const {
    return fail(ErrorKind::kRefused, place() + "'" + name +
                                         "' is its owner's account, not a data " +
                                         "set: use it as --account " + name);
  }

  /// Whether the request may be charged; `item` is its charge where it has one already.
  Result<void> may_charge(const ChargeRequest& request, const Book::Item*& item) const {
    const auto sound = own_ ? check(Entry(request)) : check_named(request);
    if (!sound) return at(file_.string(), sound.error());
    if (!own_ && book_.is_declared(request.dataset)) return owners_name(request.dataset);
    const auto refuse = [&](const std::string& why) {
      return fail(ErrorKind::kRefused, place() +
                                           account_text(book_, request.client, request.dataset) +
                                           ", task '" + request.task + "', round " +
                                           std::to_string(request.round) + ": refused: " + why);
    };
    item = own_ ? book_.find_round_of_client(request) : book_.find_round(request);
    if (item != nullptr) {
      // Another account has paid for it: its report may be sent again, but none is made from the
      // data of this one.
      const std::string& paid = book_.account_of(*item).dataset;
      if (own_ && item->state == ChargeState::kCharged &&
          (book_.is_declared(paid) ? paid : std::string()) != *own_) {
        return refuse("the round was charged to " +
                      (book_.is_declared(paid) ? "account '" + paid + "'" : "the whole ledger") +
                      ", and its report is still to be made there");
      }
      if (book_.mechanism_of(*item) == request.mechanism_id &&
          same_cost(book_.cost_of(*item), request.cost)) {
        return {};
      }
      return refuse("the round was charged before for another report: mechanism " +
                    book_.mechanism_of(*item) + " with epsilon " +
                    number_text(book_.cost_of(*item).epsilon) + ", now " + request.mechanism_id +
                    " with epsilon " + number_text(request.cost.epsilon));
    }
    constexpr const char* kNoLimits =
        "an account without limits allows nothing; set them with 'sotto ledger limit'";
    if (own_) {
      if (book_.limits_of_owner(*own_) == nullptr) return refuse(kNoLimits);
      const auto why = book_.spending_of_owner(*own_).refusal(request.cost);
      if (why) return refuse(*why);
      return {};
    }
    const Book::Account* const account = book_.find_account(request.client, request.dataset);
    if (account == nullptr) {
      return refuse(kNoLimits + similar_account(book_, request.client, request.dataset));
    }
    if (const auto why = account->spending.refusal(request.cost)) return refuse(*why);
    if (book_.limits_of_owner("") == nullptr) return {};
    const auto why = book_.spending_of_owner("").refusal(request.cost);
    return why ? Result<void>(refuse("whole ledger: " + *why)) : Result<void>();
  }

  Result<void> bind_one(const BindEntry& entry, std::span<const std::byte> bytes) {
    SOTTO_CHECK(check(Entry(entry)));
    SOTTO_TRY(const Book::Item* const item, find(entry.charge));
    if (item->state != ChargeState::kCharged) {
      if (Book::hash_of(*item) == entry.hash) return {};
      return fail(ErrorKind::kRefused, place() + "another report is bound to " + name_of(*item) +
                                           " already: send that one again");
    }
    for (const std::uint64_t settled : book_.account_of(*item).settled) {
      SOTTO_TRY(auto row, database_->prepare("DELETE FROM report WHERE charge = ?"));
      SOTTO_CHECK(row.with(settled).run());
    }
    if (entry.size) {
      SOTTO_TRY(auto row, database_->prepare("INSERT INTO report VALUES (?, ?)"));
      SOTTO_CHECK(row.with(entry.charge).with(bytes).run());
    }
    return append(entry);
  }

  Result<void> append(const Entry& entry) {
    const std::string text = encode(entry);
    SOTTO_CHECK(book_.apply(entry, text));
    if (!insert_) {
      SOTTO_TRY(auto statement, database_->prepare("INSERT INTO log VALUES (?, ?, ?)"));
      insert_.emplace(std::move(statement));
    }
    return insert_->start().with(book_.head().entries).with(text).with(book_.head().hash).run();
  }

  Result<void> commit(Transaction& transaction) {
    SOTTO_TRY(auto row, database_->prepare("UPDATE head SET entries = ?, hash = ?"));
    SOTTO_CHECK(row.with(book_.head().entries).with(book_.head().hash).run());
    return transaction.commit();
  }

  template <class Step>
  Result<void> write(const Step& step) {
    const std::lock_guard lock(mutex_);
    {
      SOTTO_TRY(auto transaction, Transaction::begin(*database_, Transaction::Kind::kWrite));
      SOTTO_CHECK(take_in());
      const std::uint64_t before = book_.head().entries;
      Result<void> done = step();
      if (done && book_.head().entries == before) return {};
      if (done) done = commit(transaction);
      if (!done) {
        if (book_.head().entries != before) book_ = Book();
        return done;
      }
    }
    SOTTO_CHECK(write_head_file(file_, book_.head()));
    return remember();
  }

  /// An identity that has spent nothing yet may begin with any ledger.
  Result<void> remember() const {
    if (witness_.empty() || !book_.has_charges()) return {};
    return write_head(witness_, book_.head());
  }

  template <class Step>
  auto read(const Step& step) const -> decltype(step()) {
    const std::lock_guard lock(mutex_);
    SOTTO_TRY(auto transaction, Transaction::begin(*database_, Transaction::Kind::kRead));
    SOTTO_CHECK(take_in());
    return step();
  }

  /// What other processes have entered.
  Result<void> take_in() const {
    Result<void> done = catch_up(*database_, book_);
    if (!done) book_ = Book();
    return done;
  }

  const fs::path file_;
  mutable std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::optional<Statement> insert_;
  mutable Book book_;
  std::optional<std::string> own_;  // the owner's account that is served; "": the whole file
  fs::path witness_;
};

Result<std::unique_ptr<SqliteLedger>> open_sqlite(const fs::path& file) {
  // Read first: what it remembers is in the ledger by the time that the ledger is read.
  SOTTO_TRY(const auto remembered, read_head_file(file));
  SOTTO_TRY(auto database, open_for_writing(file, remembered));
  Book book;
  {
    SOTTO_TRY(auto transaction, Transaction::begin(*database, Transaction::Kind::kRead));
    SOTTO_CHECK(catch_up(*database, book));
    if (made_meanwhile(file, remembered, book)) return open_sqlite(file);
    SOTTO_CHECK(check_content(*database, book));
    SOTTO_CHECK(check_head(*database, book, remembered));
  }
  if (!remembered || remembered->entries < book.head().entries) {
    SOTTO_CHECK(write_head_file(file, book.head()));
  }
  return std::make_unique<SqliteLedger>(file, std::move(database), std::move(book));
}

}  // namespace

Result<std::unique_ptr<Ledger>> open_ledger(const fs::path& file) { return open_sqlite(file); }

Result<std::unique_ptr<Ledger>> open_own_ledger(const fs::path& file,
                                                const OwnLedgerOptions& options) {
  std::error_code code;
  if (fs::hard_link_count(file, code) > 1 && !code) {
    return fail(ErrorKind::kRefused,
                file.string() +
                    ": is one file with several names, and what is spent under "
                    "one may not be seen under another; copy it to a file of "
                    "its own");
  }
  SOTTO_TRY(auto ledger, open_sqlite(file));
  SOTTO_CHECK(ledger->serve_owner(options));
  return ledger;
}

Result<void> declare_account(const fs::path& file, const std::string& name) {
  std::error_code code;
  if (!fs::exists(file, code)) {
    return fail(ErrorKind::kNotFound,
                file.string() + ": there is no such ledger; 'sotto ledger limit' makes one");
  }
  SOTTO_TRY(const auto ledger, open_sqlite(file));
  return ledger->declare(name);
}

}  // namespace sotto
