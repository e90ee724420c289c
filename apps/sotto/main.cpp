// The command line: parses, runs the chosen action, turns errors into text and exit codes
// (0 done, 1 it failed, 2 usage).
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include "base/nearest.h"
#include "base/private_memory.h"
#include "base/utf8.h"
#include "command.h"
#include "sotto/version.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// The innermost subcommand that the arguments reached.
const CLI::App& reached(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : reached(*chosen.front());
}

/// Commands that a program is built without where a component is switched off.
constexpr std::array<std::string_view, 9> kOptionalCommands = {
    "reproduce", "server", "shuffler", "client", "audit", "attack", "ledger", "keys", "bench"};

/// What was wrong, with the option or subcommand that an unknown word was probably meant to be.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = reached(app);
  const std::vector<CLI::App*> commands =
      const_cast<CLI::App&>(at).get_subcommands([](CLI::App*) { return true; });
  for (const std::string& word : at.remaining(true)) {
    std::vector<std::string> names;
    if (word.starts_with("-")) {
      for (const CLI::Option* option : at.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
      const std::string name = word.substr(0, word.find('='));
      return "unknown option '" + name + "'" + did_you_mean(name, names);
    }
    if (commands.empty()) break;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    if (&at == &app && std::ranges::count(kOptionalCommands, word) > 0) {
      return "this program was built without '" + word + "'; ./bootstrap build makes one with it";
    }
    return "unknown command '" + word + "'" + did_you_mean(word, names) + "; valid: " + join(names);
  }
  return error.what();
}

/// An option that counts something and was given a negative number: read as unsigned, "-1" would
/// become 18446744073709551615. Options that count are those that the help calls N, I or R1,R2,...
std::optional<std::string> negative_count(const CLI::App& at) {
  for (const CLI::Option* const option : at.get_options()) {
    const std::string all = option->get_type_name();  // with what validators say, behind a colon
    const std::string type = all.substr(0, all.find(':'));
    if (type != "N" && type != "I" && type != "N1,N2,..." && type != "R1,R2,...") continue;
    for (const std::string& given : option->results()) {
      if (given.size() < 2 || given[0] != '-' || given[1] < '0' || given[1] > '9') continue;
      return option->get_name() + ": " + given + " is negative; valid: a whole number from 0 on";
    }
  }
  return std::nullopt;
}

/// Of the ranks of a job only the first prints and has an exit code of its own: a launcher ends the
/// others as soon as one returns another code than 0.
bool is_helper() { return cluster::launched().rank > 0; }

int usage_error(const std::string& text) {
  if (is_helper()) return 0;
  fmt::print(stderr, "sotto: {}\n", text);
  return kUsage;
}

/// Whether the command shares its work with the other ranks of a job.
bool spreads(const CLI::App& app) {
  const std::string name = app.get_subcommands().front()->get_name();
  return name == "run" || name == "sweep" || name == "reproduce" ||
         (name == "bench" && reached(app).get_name() == "scale");
}

/// Keys, a client's data and coins, or a ledger.
bool holds_secrets(const CLI::App& app) {
  const std::string name = app.get_subcommands().front()->get_name();
  return name == "server" || name == "shuffler" || name == "client" || name == "keys" ||
         name == "ledger";
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
    if (is_helper()) return 0;
    fmt::print(stderr, "sotto{}: {}\nTry 'sotto{} --help'.\n", path, complaint(app, error), path);
    return kUsage;
  }

  if (const auto wrong = negative_count(reached(app))) return usage_error(*wrong);
  if (cluster::under_mpi() && !spreads(app)) {
    return usage_error("this command is not spread over ranks: start it without the launcher");
  }
  if (holds_secrets(app)) keep_memory_private();
  Result<int> result = action();
  if (is_helper()) return 0;  // rank 0 received the error and decides the exit code
  if (result && std::fflush(stdout) != 0) {
    result = fail(ErrorKind::kIo, "standard output cannot be written");
  }
  if (result) return *result;
  // It may quote a file or another party.
  fmt::print(stderr, "sotto: {}\n", for_terminal(result.error().message));
  return result.error().kind == ErrorKind::kUsage ? kUsage : kFailed;
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) {
  // Reports and activations of large networks are tens of megabytes each. Left to itself, malloc
  // maps and unmaps such blocks every time, and the kernel clears their pages every time.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (sotto::cluster::launched().rank > 0 && std::freopen("/dev/null", "w", stdout) == nullptr) {
    return 1;
  }
  try {
    return sotto::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sotto: internal error: %s\n", error.what());
    sotto::cluster::abandon(1);
    return 1;
  }
}
