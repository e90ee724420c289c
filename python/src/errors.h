// Errors on their way to Python: a Result that failed becomes an exception with the same text as
// the command line prints.
//
//   kUsage, kNotFound, kCorrupt   ValueError (FileNotFoundError, where a file is not there)
//   kRefused                      sotto.PrivacyError; sotto.BudgetExceeded where a ledger refused
//   kIo                           OSError
//   kInternal                     RuntimeError
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <optional>

#include "sotto/result.h"

namespace sotto::python {

class Failure : public std::exception {
 public:
  explicit Failure(Error error, bool by_ledger = false)
      : error_(std::move(error)), by_ledger_(by_ledger) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const noexcept { return error_; }
  bool by_ledger() const noexcept { return by_ledger_; }

 private:
  Error error_;
  bool by_ledger_;
};

template <class T>
T take(Result<T> result) {
  if (!result) throw Failure(std::move(result).error());
  return std::move(*result);
}
inline void take(const Result<void>& result) {
  if (!result) throw Failure(result.error());
}

/// Where exceptions of this module go. `_core` makes the classes, other modules import them.
void translate_failures(const pybind11::object& privacy_error,
                        const pybind11::object& budget_exceeded);

}  // namespace sotto::python
