// `sotto data`: what data there is, whether it is sound, and how a partition deals it to clients.
#include "command.h"
#include "data_actions.h"

namespace sotto::cli {
namespace {

void add_source(CLI::App& command, DataRequest& request) {
  command.add_option("source", request.source, "a known name (see 'sotto data list') or a path")
      ->required()
      ->type_name("NAME|PATH");
  command.add_option("--data", request.folder, "folder with the known sets")->type_name("DIR");
  command.add_option("--labels", request.labels, "labels of an IDX or NPY path")->type_name("FILE");
  command.add_option("--test", request.test, "path of the test data")->type_name("PATH");
  command.add_option("--test-labels", request.test_labels, "labels of the test data")
      ->type_name("FILE");
  command
      .add_option("--test-fraction", request.test_fraction,
                  "share that is held out where the data has no test part")
      ->capture_default_str();
  command.add_option("--seed", request.seed, "of the embedded set, held-out splits and partitions")
      ->capture_default_str();
}

void add_list(CLI::App& data, Action& action) {
  CLI::App& list = *data.add_subcommand("list", "known sets, and where they are");
  const auto options = choose(list, action, data_list);
  list.add_option("--data", options->folder, "folder with the known sets")->type_name("DIR");
  list.add_flag("--json", options->json, "machine-readable output");
  list.footer(
      "Sets are looked for in --data DIR; without it in $SOTTO_DATA, then in the cache\n"
      "(${XDG_CACHE_HOME:-~/.cache}/sotto/data).\n\n"
      "Examples:\n"
      "  sotto data list\n"
      "  sotto data list --data /srv/datasets --json");
}

void add_check(CLI::App& data, Action& action) {
  CLI::App& check = *data.add_subcommand("check", "reads a set completely and describes it");
  const auto options = choose(check, action, data_check);
  add_source(check, options->request);
  check.add_flag("--json", options->json, "machine-readable output");
  check.footer(
      "The files of a known set must have the catalogued SHA-256. Channel means and deviations\n"
      "are those of the train part, bytes scaled to [0, 1].\n\n"
      "Examples:\n"
      "  sotto data check mnist\n"
      "  sotto data check cifar10 --data /srv/datasets\n"
      "  sotto data check flowers/ --test-fraction 0.2\n"
      "  sotto data check x.npy --labels y.npy --json");
}

void add_fetch(CLI::App& data, Action& action) {
  CLI::App& fetch = *data.add_subcommand("fetch", "downloads a known set and verifies it");
  const auto options = choose(fetch, action, data_fetch);
  fetch.add_option("name", options->name, "a known set (see 'sotto data list')")
      ->required()
      ->type_name("NAME");
  fetch.add_option("--to", options->to, "data folder (default: the cache)")->type_name("DIR");
  fetch
      .add_option("--mirror", options->mirror,
                  "a server that has the files of a data folder, instead of the official ones")
      ->type_name("URL");
  fetch.footer(
      "A download that broke off goes on where it stopped. A file gets its name only when its\n"
      "SHA-256 is the catalogued one; files that are there already are not downloaded again.\n\n"
      "Examples:\n"
      "  sotto data fetch mnist\n"
      "  sotto data fetch cifar10 --to /srv/datasets\n"
      "  sotto data fetch medical-mnist --mirror http://files.example.org/datasets");
}

void add_show(CLI::App& data, Action& action) {
  CLI::App& show = *data.add_subcommand("show", "how a partition deals a set to clients");
  const auto options = choose(show, action, data_show);
  add_source(show, options->request);
  show.add_option("--clients", options->clients, "number of clients (0 with users: all of them)")
      ->capture_default_str()
      ->type_name("N");
  show.add_option("--partition", options->partition,
                  "iid, stratified, dirichlet(ALPHA), shards(K) or users")
      ->capture_default_str()
      ->type_name("RULE");
  show.add_option("--out", options->out, "also draws the table as a picture")
      ->type_name("FILE.svg");
  show.add_flag("--json", options->json, "machine-readable output, all clients");
  show.footer(
      "Examples:\n"
      "  sotto data show embedded --clients 10 --partition 'dirichlet(0.5)'\n"
      "  sotto data show mnist --clients 100 --partition 'shards(2)' --out shards.svg\n"
      "  sotto data show femnist/ --clients 0 --partition users --json");
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  CLI::App& data = *app.add_subcommand("data", "data sets: list, check, fetch, show partitions");
  data.require_subcommand(1);
  data.footer(
      "Examples:\n"
      "  sotto data list\n"
      "  sotto data fetch mnist\n"
      "  sotto data check mnist\n"
      "  sotto data show mnist --clients 20 --partition 'dirichlet(0.3)' --out mnist.svg");
  add_list(data, action);
  add_check(data, action);
  add_fetch(data, action);
  add_show(data, action);
}

}  // namespace sotto::cli
