// How Sotto reports failure: a value or an Error, never an exception across a public boundary.
//
// An Error says what was wrong, where, and what would be right; its kind decides the exit code of
// the command line (usage -> 2, everything else -> 1). Nothing in an Error may depend on a private
// value: errors describe files, recipes and messages, never a client's data.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sotto {

enum class ErrorKind {
  kUsage,     // the caller asked for something that cannot be: a bad flag, key or value
  kNotFound,  // a file, data set or name does not exist
  kCorrupt,   // the content of a file or message is not what its format demands
  kIo,        // the system refused: disk full, no permission, connection lost
  kBusy,      // the other side has too much to do now; that passes without anybody's doing
  kRefused,   // allowed by form but forbidden by policy: a budget, a bound's validity
  kInternal,  // a fault of ours or of a library
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Whether the same call may succeed later: of kIo for a while, of kBusy for a longer one.
inline bool may_pass(const Error& error) {
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kBusy;
}

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}

/// The same error with the place in front of it: "train-images.gz: truncated ...".
[[nodiscard]] inline tl::unexpected<Error> at(const std::string& place, const Error& error) {
  return fail(error.kind, place + ": " + error.message);
}

}  // namespace sotto

// SOTTO_TRY(auto value, expression): unwraps a Result or returns its error from this function.
#define SOTTO_CONCAT_INNER(a, b) a##b
#define SOTTO_CONCAT(a, b) SOTTO_CONCAT_INNER(a, b)
#define SOTTO_TRY_IMPL(temporary, declaration, expression)                               \
  auto temporary = (expression);                                                         \
  if (!temporary) return ::tl::unexpected<::sotto::Error>(std::move(temporary).error()); \
  declaration = std::move(*temporary)
#define SOTTO_TRY(declaration, expression) \
  SOTTO_TRY_IMPL(SOTTO_CONCAT(sotto_try_, __LINE__), declaration, expression)

// SOTTO_CHECK(expression): the same for Result<void>.
#define SOTTO_CHECK(expression)                                                \
  do {                                                                         \
    if (auto sotto_check = (expression); !sotto_check)                         \
      return ::tl::unexpected<::sotto::Error>(std::move(sotto_check).error()); \
  } while (false)
