// Every exception of LibTorch's ends here and becomes an Error.
#pragma once

#include <torch/script.h>

#include <string>

#include "sotto/result.h"

namespace sotto {

template <class Function>
auto guarded(const char* what, Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const c10::Error& error) {
    return fail(ErrorKind::kInternal, std::string(what) + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInternal, std::string(what) + ": " + error.what());
  }
}

}  // namespace sotto
