// The memory of requests. A request may be sent again for as long as its time is inside the window;
// so long its nonce is kept, and no longer. The file holds the same entries, so that a process that
// was killed goes on with what it knew.
//
// The clock of the machine may jump. Entries are dropped by it, but a request that is not newer
// than any dropped entry (the horizon) is stale for good: a clock that goes back lets nothing in
// twice.
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "account/ledger_database.h"
#include "identity/keys.h"

namespace sotto::identity {
namespace {

using Key = std::array<unsigned char, 16>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t value = 0;  // the key is a hash already
    for (std::size_t i = 0; i < sizeof value; ++i) value |= std::size_t{key[i]} << (8 * i);
    return value;
  }
};

struct Entry {
  Key key;
  std::string client;
};

Key key_of(std::string_view client, const ReplayGuard::Nonce& nonce) {
  sodium_ready();
  Key key;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, key.size());
  crypto_generichash_update(&state, nonce.data(), nonce.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(client.data()),
                            client.size());
  crypto_generichash_final(&state, key.data(), key.size());
  return key;
}

std::uint64_t stored(Time time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

Time restored(std::uint64_t number) {
  return Time(std::chrono::milliseconds(static_cast<std::int64_t>(number)));
}

tl::unexpected<Refusal> refuse(Fault fault, std::string message) {
  return tl::unexpected<Refusal>(Refusal{fault, std::move(message)});
}

constexpr std::uint64_t kApplication = 0x536F7252;  // "SorR": requests, not a ledger
constexpr std::size_t kDropAtOnce = 1024;

struct Store {
  std::unique_ptr<Database> database;
  Statement insert;
  Statement drop;
  Statement raise;
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
  SOTTO_CHECK(
      database->run("BEGIN IMMEDIATE; PRAGMA application_id = 1399812690;"
                    "CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY, client TEXT NOT NULL, "
                    "time INTEGER NOT NULL) WITHOUT ROWID;"
                    "CREATE INDEX IF NOT EXISTS by_time ON seen (time);"
                    "CREATE TABLE IF NOT EXISTS horizon (one INTEGER PRIMARY KEY CHECK (one = 1), "
                    "time INTEGER NOT NULL); INSERT OR IGNORE INTO horizon VALUES (1, 0); COMMIT"));
  SOTTO_TRY(auto insert, database->prepare("INSERT INTO seen VALUES (?, ?, ?)"));
  SOTTO_TRY(auto drop, database->prepare("DELETE FROM seen WHERE time <= ?"));
  SOTTO_TRY(auto raise, database->prepare("UPDATE horizon SET time = max(time, ?)"));
  return Store{std::move(database), std::move(insert), std::move(drop), std::move(raise)};
}
static_assert(kApplication == 1399812690);

}  // namespace

struct ReplayGuard::State {
  Options options;
  std::mutex mutex;
  std::unordered_set<Key, KeyHash> seen;
  std::multimap<Time, Entry> by_time;
  std::unordered_map<std::string, std::size_t> per_client;
  Time horizon{};  // nothing that is not newer is admitted
  std::size_t dropped = 0;
  std::optional<Store> store;

  void remember(const Key& key, std::string client, Time time) {
    seen.insert(key);
    ++per_client[client];
    by_time.emplace(time, Entry{key, std::move(client)});
  }

  void forget_before(Time limit) {
    while (!by_time.empty() && by_time.begin()->first < limit) {
      const auto oldest = by_time.begin();
      horizon = std::max(horizon, oldest->first);
      seen.erase(oldest->second.key);
      const auto count = per_client.find(oldest->second.client);
      if (--count->second == 0) per_client.erase(count);
      by_time.erase(oldest);
      ++dropped;
    }
  }

  /// The file may keep what is no longer needed for a while; it must not lose what is.
  Result<void> trim_file() {
    if (!store || dropped < kDropAtOnce) return {};
    SOTTO_TRY(auto transaction, Transaction::begin(*store->database, Transaction::Kind::kWrite));
    SOTTO_CHECK(store->raise.start().with(stored(horizon)).run());
    SOTTO_CHECK(store->drop.start().with(stored(horizon)).run());
    SOTTO_CHECK(transaction.commit());
    dropped = 0;
    return {};
  }

  Result<void> load() {
    SOTTO_TRY(const auto time, store->database->number("SELECT time FROM horizon"));
    horizon = restored(time);
    SOTTO_TRY(auto rows, store->database->prepare("SELECT key, client, time FROM seen"));
    while (true) {
      SOTTO_TRY(const bool row, rows.next());
      if (!row) return {};
      const auto bytes = rows.bytes(0);
      Key key{};
      if (bytes.size() != key.size()) {
        return fail(ErrorKind::kCorrupt, store->database->file() + ": damaged: a key of " +
                                             std::to_string(bytes.size()) + " bytes");
      }
      std::memcpy(key.data(), bytes.data(), key.size());
      remember(key, std::string(rows.text(1)), restored(rows.number(2)));
    }
  }
};

ReplayGuard ReplayGuard::in_memory(const Options& options) {
  auto state = std::make_shared<State>();
  state->options = options;
  return ReplayGuard(std::move(state));
}

Result<ReplayGuard> ReplayGuard::open(const std::filesystem::path& file, const Options& options) {
  ReplayGuard guard = in_memory(options);
  SOTTO_TRY(guard.state_->store, open_store(file));
  SOTTO_CHECK(guard.state_->load());
  return guard;
}

Admitted<void> ReplayGuard::check_time(Time signed_at, Time at) const {
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
  };
  // Compared without differences: a hostile time is any 64-bit number.
  if (signed_at < at - state_->options.window) {
    return refuse(Fault::kStale,
                  "the request was signed more than " + seconds(state_->options.window) + " ago");
  }
  if (signed_at > at + state_->options.skew) {
    return refuse(Fault::kEarly, "the request is dated more than " + seconds(state_->options.skew) +
                                     " ahead; one of the clocks is wrong");
  }
  return {};
}

Admitted<void> ReplayGuard::admit(std::string_view client, const Nonce& nonce, Time signed_at,
                                  Time at) {
  const Key key = key_of(client, nonce);
  State& state = *state_;
  const std::scoped_lock lock(state.mutex);
  if (auto fresh = check_time(signed_at, at); !fresh) return fresh;
  state.forget_before(at - state.options.window);
  if (state.seen.contains(key)) {
    return refuse(Fault::kDuplicate, "this very request was here before");
  }
  if (signed_at <= state.horizon) {
    return refuse(Fault::kStale, "the request is older than what is still remembered");
  }
  const std::string name(client);
  const auto count = state.per_client.find(name);
  if ((count != state.per_client.end() && count->second >= state.options.per_client) ||
      state.seen.size() >= state.options.capacity) {
    return refuse(Fault::kTooMany, "too many requests in a short time; try again later");
  }
  if (state.store) {
    auto written = state.store->insert.start()
                       .with(std::as_bytes(std::span(key)))
                       .with(client)
                       .with(stored(signed_at))
                       .run();
    if (written) written = state.trim_file();
    if (!written) {
      return refuse(Fault::kUnavailable, "the memory of requests: " + written.error().message);
    }
  }
  state.remember(key, name, signed_at);
  return {};
}

}  // namespace sotto::identity
