// What a subcommand is: a function that adds its options to the program and names its action.
//
// One file per subcommand, one line in commands.def. An action returns its exit code (0, or 1 when
// it ran but the answer is "no") or an Error, which main() prints and turns into 1 or 2.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "sotto/result.h"

namespace sotto::cli {

using Action = std::function<Result<int>()>;

/// The subcommand's options live as long as the parser; running it only names the action.
template <class Options>
std::shared_ptr<Options> choose(CLI::App& command, Action& action,
                                Result<int> (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  command.callback([&action, options, run] { action = [options, run] { return run(*options); }; });
  return options;
}

#define SOTTO_COMMAND(name) void add_##name(CLI::App& app, Action& action);
#include "commands.def"
#undef SOTTO_COMMAND

}  // namespace sotto::cli
