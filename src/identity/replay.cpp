// The memory of requests. Of each client it holds the largest numbers that were taken, and the
// largest of those that it has forgotten (the floor): a number is taken if it is above the floor
// and not among them. So a request is taken once, whatever clocks say; requests that overtake one
// another are taken as well. The file holds the same, so that a process that was killed goes on
// with it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "account/ledger/ledger_database.h"
#include "identity/key_files.h"

namespace sotto::identity {
namespace {

struct Seen {
  std::uint64_t floor = 0;
  std::vector<std::uint64_t> numbers;  // rising, above the floor, kWindow of them at most

  std::uint64_t largest() const { return numbers.empty() ? floor : numbers.back(); }
  /// False where it was here before.
  bool take(std::uint64_t number) {
    const auto place = std::ranges::lower_bound(numbers, number);
    if (place != numbers.end() && *place == number) return false;
    numbers.insert(place, number);
    if (numbers.size() > ReplayGuard::kWindow) {
      floor = numbers.front();
      numbers.erase(numbers.begin());
    }
    return true;
  }
};

tl::unexpected<Refusal> refuse(Fault fault, std::string message) {
  return tl::unexpected<Refusal>(Refusal{fault, std::move(message)});
}

constexpr std::uint64_t kApplication = 0x536F7252;  // "SorR": requests, not a ledger
static_assert(kApplication == 1399812690);

struct Store {
  std::unique_ptr<Database> database;
  Statement put;
};

Result<Store> open_store(const std::filesystem::path& file) {
  SOTTO_TRY(auto database, Database::open(file, Database::Mode::kWrite));
  SOTTO_TRY(const auto application, database->number("PRAGMA application_id"));
  SOTTO_TRY(const auto tables, database->number("SELECT count(*) FROM sqlite_schema"));
  if (application != kApplication && tables != 0) {
    return fail(ErrorKind::kCorrupt, file.string() + ": not a memory of requests");
  }
  SOTTO_CHECK(database->use_write_ahead_log());
  // Survives the end of the process at any moment, without waiting for the disk at each request.
  SOTTO_CHECK(database->run("PRAGMA synchronous = NORMAL"));
  // The tables of version 1 remember requests that no longer have a valid form.
  SOTTO_CHECK(database->run(
      "BEGIN IMMEDIATE; PRAGMA application_id = 1399812690;"
      "DROP TABLE IF EXISTS seen; DROP TABLE IF EXISTS horizon;"
      "CREATE TABLE IF NOT EXISTS senders (client TEXT PRIMARY KEY, floor INTEGER NOT NULL, "
      "numbers BLOB NOT NULL) WITHOUT ROWID; COMMIT"));
  SOTTO_TRY(auto put, database->prepare("INSERT OR REPLACE INTO senders VALUES (?, ?, ?)"));
  return Store{std::move(database), std::move(put)};
}

std::uint64_t microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace

RequestNumbers::RequestNumbers() : RequestNumbers(microseconds_now) {}

std::uint64_t RequestNumbers::next() {
  const std::scoped_lock lock(mutex_);
  last_ = std::max(last_ + 1, std::min(clock_(), kMostNumber / 2));
  return last_;
}

bool RequestNumbers::jump_beyond(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  if (number >= kMostNumber) return false;
  last_ = std::max(last_, number);
  return true;
}

struct ReplayGuard::State {
  mutable std::mutex mutex;
  std::unordered_map<std::string, Seen> senders;
  std::optional<Store> store;

  Result<void> load() {
    SOTTO_TRY(auto rows, store->database->prepare("SELECT client, floor, numbers FROM senders"));
    while (true) {
      SOTTO_TRY(const bool row, rows.next());
      if (!row) return {};
      Seen& seen = senders[std::string(rows.text(0))];
      seen.floor = rows.number(1);
      const auto bytes = rows.bytes(2);
      seen.numbers.resize(bytes.size() / sizeof(std::uint64_t));
      if (!bytes.empty()) {
        std::memcpy(seen.numbers.data(), bytes.data(), seen.numbers.size() * sizeof(std::uint64_t));
      }
      const bool rising = std::ranges::is_sorted(seen.numbers, std::less_equal{}) &&
                          (seen.numbers.empty() || seen.numbers.front() > seen.floor);
      if (bytes.size() % sizeof(std::uint64_t) != 0 || seen.numbers.size() > kWindow || !rising) {
        return fail(ErrorKind::kCorrupt, store->database->file() + ": damaged: the numbers of '" +
                                             std::string(rows.text(0)) + "' are none");
      }
    }
  }
};

ReplayGuard ReplayGuard::in_memory() { return ReplayGuard(std::make_shared<State>()); }

Result<ReplayGuard> ReplayGuard::open(const std::filesystem::path& file) {
  ReplayGuard guard = in_memory();
  SOTTO_TRY(guard.state_->store, open_store(file));
  SOTTO_CHECK(guard.state_->load());
  return guard;
}

std::uint64_t ReplayGuard::largest(std::string_view client) const {
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->senders.find(std::string(client));
  return found == state_->senders.end() ? 0 : found->second.largest();
}

Admitted<void> ReplayGuard::admit(std::string_view client, std::uint64_t number) {
  State& state = *state_;
  const std::scoped_lock lock(state.mutex);
  if (number > kMostNumber) {
    return refuse(Fault::kMalformed, "a request has a number up to 2^62");
  }
  Seen& seen = state.senders[std::string(client)];
  if (number <= seen.floor) {
    return refuse(Fault::kBehind, "request " + std::to_string(number) + " of '" +
                                      std::string(client) + "' is not above " +
                                      std::to_string(seen.largest()) +
                                      ", the largest that was here; sign it anew");
  }
  Seen after = seen;
  if (!after.take(number)) {
    return refuse(Fault::kDuplicate, "this very request was here before");
  }
  if (state.store) {
    const auto written = state.store->put.start()
                             .with(client)
                             .with(after.floor)
                             .with(std::as_bytes(std::span(after.numbers)))
                             .run();
    if (!written) {
      return refuse(Fault::kUnavailable, "the memory of requests: " + written.error().message);
    }
  }
  seen = std::move(after);
  return {};
}

}  // namespace sotto::identity
