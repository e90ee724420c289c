// sotto shuffler: passes sealed reports on in random order.
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "federation_options.h"
#include "monitor_options.h"
#include "transport/grpc/grpc_shuffler.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string listen = "127.0.0.1:7101";
  std::string server = "127.0.0.1:7100";
  std::string state;
  std::uint32_t minimum = 2;
  SecurityOptions security;
  MonitorOptions monitor;
  bool json = false;
};

Result<int> relay(const Arguments& arguments) {
  share_memory_pool();
  rpc::ShufflerOptions options;
  options.stop = &stop_requested();
  SOTTO_TRY(options.security, arguments.security.read(identity::Role::kShuffler));
  options.listen = arguments.listen;
  options.server = arguments.server;
  options.state = arguments.state;
  // Who sent what is nobody else's business: every file that this process makes is its own.
  ::umask(0077);
  options.minimum = arguments.minimum;
  SOTTO_TRY(const auto monitor, Monitor::start(arguments.monitor, {"shuffler", "Sotto shuffler"}));
  options.on_event = monitor->sink();
  options.on_ready = [&](const std::string& address) {
    monitor->started(fmt::format("shuffler on {}, {}, batches of {} reports or more", address,
                                 shown(options.security), options.minimum));
  };
  options.on_note = [&](const std::string& text) { monitor->problem(text); };
  SOTTO_TRY(const rpc::ShufflerSummary summary, rpc::run_shuffler(options));
  monitor->ended(*options.stop, "sealed reports that wait stay in " + arguments.state +
                                    ", and the same command goes on");
  if (arguments.json) {
    const nlohmann::json json = {{"batches", summary.batches},
                                 {"reports", summary.reports},
                                 {"chunks", summary.chunks},
                                 {"withheld", summary.withheld}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} batches of {} reports in {} chunks passed on; {} were too small\n",
               summary.batches, summary.reports, summary.chunks, summary.withheld);
  }
  return 0;
}

}  // namespace

void add_shuffler(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("shuffler", "Pass clients' sealed reports on in random order");
  const auto arguments = choose<Arguments>(*sub, action, relay);
  sub->add_option("--listen", arguments->listen, "where clients come to")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  sub->add_option("--server", arguments->server, "the server")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  sub->add_option("--state", arguments->state, "folder where sealed reports wait; survives kills")
      ->type_name("DIR")
      ->required();
  sub->add_option(
         "--min-batch", arguments->minimum,
         "reports of different clients that a batch has at least, whatever the server asks")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000000U))
      ->capture_default_str();
  arguments->security.add_to(*sub);
  arguments->monitor.add_to(*sub, false);
  sub->add_flag("--json", arguments->json, "print what was done as JSON");
  sub->footer(
      "The reports are sealed to the server: the shuffler cannot read them. It knows who sent one\n"
      "and not what; the server learns what was sent and not by whom, unless both work "
      "together.\n\n"
      "Examples:\n"
      "  sotto shuffler --state runs/shuffler --plain\n"
      "  sotto shuffler --state /var/lib/sotto --server fed.example:7100 --listen 0.0.0.0:7101 "
      "--min-batch 50 --identity shuffler");
}

}  // namespace sotto::cli
