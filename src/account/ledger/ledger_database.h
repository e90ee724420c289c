// SQLite as the ledger needs it: statements and transactions that end with their scope, and errors
// that name the file and say what a person can do.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sotto/result.h"

namespace sotto {

/// A prepared statement, used again and again: start() takes it back to its beginning.
class Statement {
 public:
  Statement& start();
  /// Parameters in order. Text and bytes must live until the statement is started again.
  Statement& with(std::uint64_t value);
  Statement& with(std::string_view text);
  Statement& with(std::span<const std::byte> bytes);
  /// The next row; false after the last one.
  Result<bool> next();
  /// Runs it to the end and lets go of all locks.
  Result<void> run();

  std::uint64_t number(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3_stmt* statement, const class Database* database)
      : statement_(statement), database_(database) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const Database* database_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Mode { kRead, kWrite };
  /// In mode kWrite a missing file is made, and only its owner may read or write it; one that is
  /// there is narrowed to that. Nothing is read yet.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file, Mode mode);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() = default;

  Result<Statement> prepare(std::string_view sql) const;
  Result<void> run(const char* sql) const;
  /// The journal with which readers and a writer do not hinder each other.
  Result<void> use_write_ahead_log() const;
  /// The single number or text that a query answers.
  Result<std::uint64_t> number(std::string_view sql) const;
  Result<std::string> text(std::string_view sql) const;

  const std::string& file() const noexcept { return file_; }
  /// What SQLite's result code means for this file.
  Error error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  explicit Database(std::string file) : file_(std::move(file)) {}
  int open_as(const std::string& name, int flags);
  std::string file_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Rolled back unless committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  static Result<Transaction> begin(const Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  /// Durable when it returns.
  Result<void> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace sotto
