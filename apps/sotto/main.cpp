// The command line: parses, runs the chosen action, turns errors into text and exit codes
// (0 done, 1 it failed, 2 usage).
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/nearest.h"
#include "command.h"
#include "sotto/version.h"

namespace sotto::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// The innermost subcommand that the arguments reached.
const CLI::App& reached(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : reached(*chosen.front());
}

/// For an argument that nobody took: the option or subcommand it was probably meant to be.
std::string suggestion(const CLI::App& app) {
  std::string text;
  for (const std::string& word : reached(app).remaining(true)) {
    std::vector<std::string> names;
    if (word.starts_with("-")) {
      for (const CLI::Option* option : reached(app).get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    } else {
      for (const CLI::App* sub : reached(app).get_subcommands(nullptr)) {
        names.push_back(sub->get_name());
      }
    }
    text += did_you_mean(word.substr(0, word.find('=')), names);
    if (!text.empty()) break;
  }
  return text;
}

int run(int argc, char** argv) {
  CLI::App app{"Sotto: federated learning in which nothing leaves a client unprotected"};
  app.set_version_flag("--version", "sotto " SOTTO_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer(
      "Run 'sotto COMMAND --help' for options and examples.\n"
      "Exit codes: 0 done, 1 it failed, 2 wrong usage.");
  Action action;
#define SOTTO_COMMAND(name) add_##name(app, action);
#include "commands.def"
#undef SOTTO_COMMAND

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);  // --help, --version
  } catch (const CLI::ParseError& error) {
    const CLI::App& at = reached(app);
    std::string path;
    for (const CLI::App* level = &at; level != &app; level = level->get_parent()) {
      path = ' ' + level->get_name() + path;
    }
    fmt::print(stderr, "sotto{}: {}{}\nTry 'sotto{} --help'.\n", path, error.what(),
               suggestion(app), path);
    return kUsage;
  }

  const Result<int> result = action();
  if (result) return *result;
  fmt::print(stderr, "sotto: {}\n", result.error().message);
  return result.error().kind == ErrorKind::kUsage ? kUsage : kFailed;
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) {
  try {
    return sotto::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sotto: internal error: %s\n", error.what());
    return 1;
  }
}
