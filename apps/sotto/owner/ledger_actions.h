// What `sotto ledger` does: one function a subcommand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sotto/result.h"

namespace sotto::cli {

struct LedgerShowOptions {
  std::filesystem::path file;
  std::string client;  // empty: all
  bool json = false;
};
Result<int> ledger_show(const LedgerShowOptions& options);

struct LedgerExportOptions {
  std::filesystem::path file;
  std::filesystem::path out;  // empty: standard output
};
Result<int> ledger_export(const LedgerExportOptions& options);

struct LedgerVerifyOptions {
  std::filesystem::path file;
  std::string head;  // "ENTRIES:HASH", or empty
  bool json = false;
};
Result<int> ledger_verify(const LedgerVerifyOptions& options);

struct LedgerAccountOptions {
  std::filesystem::path file;
  std::string name;
  bool json = false;
};
Result<int> ledger_account_add(const LedgerAccountOptions& options);

struct LedgerLimitOptions {
  std::filesystem::path file;
  std::string account;  // that the owner declared
  std::string client;   // with `dataset`; all empty: the whole file
  std::string dataset;
  // What is not given stays as it was.
  std::optional<double> epsilon_per_round;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<std::uint64_t> rounds;
  bool json = false;
};
Result<int> ledger_limit(const LedgerLimitOptions& options);

}  // namespace sotto::cli
