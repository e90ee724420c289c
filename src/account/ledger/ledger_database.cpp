#include "account/ledger/ledger_database.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "base/file.h"

namespace sotto {
namespace {

constexpr int kPatienceMs = 60'000;  // for other processes that use the same ledger

/// SQLite's name for a file that nobody changes: it makes no files beside it.
std::string immutable_name(const std::string& file) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string name = "file:";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && c != '?' && c != '#' && c != '%') {
      name += c;
    } else {
      name += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return name + "?immutable=1";
}

/// The file is its owner's alone, and with it those that SQLite makes beside it, which get the same
/// permissions. One that is there is never opened here: closing it would drop SQLite's locks.
Result<void> make_private(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  for (const char* part : {"", "-wal", "-shm"}) SOTTO_CHECK(narrow_to_owner(file.string() + part));
  return {};
}

bool no_room_for_locks(int code) { return code == SQLITE_CANTOPEN || code == SQLITE_READONLY; }

}  // namespace

Statement& Statement::start() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
  return *this;
}

Statement& Statement::with(std::uint64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(value));
  return *this;
}

Statement& Statement::with(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::with(std::span<const std::byte> bytes) {
  // A null pointer would bind NULL instead of no bytes.
  const void* const data = bytes.empty() ? "" : static_cast<const void*>(bytes.data());
  sqlite3_bind_blob64(statement_.get(), ++bound_, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto error = database_->error(code);
  sqlite3_reset(statement_.get());
  return tl::unexpected<Error>(std::move(error));
}

Result<void> Statement::run() {
  while (true) {
    SOTTO_TRY(const bool more, next());
    if (!more) return {};
  }
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string_view Statement::text(int column) const {
  const auto* const text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text), size);
}

std::span<const std::byte> Statement::bytes(int column) const {
  const void* const data = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

int Database::open_as(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK || handle == nullptr) return code == SQLITE_OK ? SQLITE_NOMEM : code;
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kPatienceMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return SQLITE_OK;
}

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file, Mode mode) {
  std::error_code code;
  const auto status = std::filesystem::status(file, code);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(ErrorKind::kIo, file.string() + ": not a regular file, so not a ledger");
  }
  std::unique_ptr<Database> database(new Database(file.string()));
  if (mode == Mode::kWrite) {
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), code);
    SOTTO_CHECK(make_private(file));
    const int opened = database->open_as(file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (opened != SQLITE_OK) return tl::unexpected<Error>(database->error(opened));
    // SQLite takes what it gets, which may be less than was asked for.
    if (sqlite3_db_readonly(database->handle_.get(), "main") != 0) {
      return fail(ErrorKind::kIo, file.string() + ": the ledger may not be written");
    }
    return database;
  }
  if (!std::filesystem::exists(status)) {
    return fail(ErrorKind::kNotFound, file.string() + ": there is no such ledger");
  }
  const bool journal = std::filesystem::file_size(file.string() + "-wal", code) > 0 && !code;
  int opened = SQLITE_OK;
  if (::access(file.c_str(), W_OK) == 0) {
    // A reader that may not write leaves its lock files behind; this one takes them away. A journal
    // that was there before stays as it is.
    opened = database->open_as(file.string(), SQLITE_OPEN_READWRITE);
    sqlite3_db_config(database->handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, journal ? 1 : 0,
                      nullptr);
    if (opened == SQLITE_OK) SOTTO_CHECK(database->run("PRAGMA query_only = ON"));
  } else {
    opened = database->open_as(file.string(), SQLITE_OPEN_READONLY);
    // Where the folder takes no lock files, nobody writes either, unless a journal is left.
    if (opened == SQLITE_OK && !journal && !database->number("PRAGMA schema_version") &&
        no_room_for_locks(sqlite3_errcode(database->handle_.get()) & 0xFF)) {
      opened =
          database->open_as(immutable_name(file.string()), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    }
  }
  if (opened != SQLITE_OK) return tl::unexpected<Error>(database->error(opened));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return Statement(statement, this);
}

Result<void> Database::run(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return {};
}

Result<void> Database::use_write_ahead_log() const {
  // SQLite does not always wait for others here by itself.
  constexpr auto kPause = std::chrono::milliseconds(10);
  for (auto waited = kPause; waited.count() < kPatienceMs; waited += kPause) {
    const int code =
        sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) break;
    if ((code & 0xFF) != SQLITE_BUSY) return tl::unexpected<Error>(error(code));
    std::this_thread::sleep_for(kPause);
  }
  SOTTO_TRY(const std::string mode, text("PRAGMA journal_mode"));
  if (mode == "wal") return {};
  return fail(ErrorKind::kIo,
              file_ + ": this file system takes no write-ahead log (journal mode '" + mode + "')");
}

Result<std::uint64_t> Database::number(std::string_view sql) const {
  SOTTO_TRY(auto statement, prepare(sql));
  SOTTO_TRY(const bool row, statement.next());
  return row ? statement.number(0) : 0;
}

Result<std::string> Database::text(std::string_view sql) const {
  SOTTO_TRY(auto statement, prepare(sql));
  SOTTO_TRY(const bool row, statement.next());
  return row ? std::string(statement.text(0)) : std::string();
}

Error Database::error(int code) const {
  const char* const words = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  const auto say = [&](ErrorKind kind, const std::string& what) {
    return Error{kind, file_ + ": " + what};
  };
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return say(ErrorKind::kIo, "the disk is full; nothing was entered into the ledger");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(ErrorKind::kIo, "another process has held the ledger for " +
                                     std::to_string(kPatienceMs / 1000) +
                                     " s; nothing was entered into it");
    case SQLITE_NOTADB:
      return say(ErrorKind::kCorrupt, "not a ledger (not an SQLite file)");
    case SQLITE_CORRUPT:
      return say(ErrorKind::kCorrupt, std::string("the ledger is damaged (") + words + ")");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return say(ErrorKind::kIo, std::string("the ledger cannot be opened for this: ") + words);
    default:
      return say(ErrorKind::kIo, std::string("the ledger cannot be used: ") + words + " (SQLite " +
                                     std::to_string(code) + "); nothing was entered into it");
  }
}

Result<Transaction> Transaction::begin(const Database& database, Kind kind) {
  SOTTO_CHECK(database.run(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // An error that SQLite has rolled back for by itself makes this one fail, which is as good.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Result<void> Transaction::commit() {
  SOTTO_CHECK(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace sotto
