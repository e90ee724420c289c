// sotto reproduce NAME: an experiment of a paper, what it reports beside what is measured here.
#include <fmt/format.h>

#include "base/clock.h"
#include "command.h"
#include "data/known.h"
#include "experiment/starter.h"
#include "reproduce_audit.h"
#include "reproduction.h"
#include "terminal.h"
#include "transport/mpi/launcher.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::vector<std::string> names;
  ReproduceOptions options;
  std::int64_t seeds = 0;
  bool list = false;
  bool all = false;
  bool json = false;
  bool markdown = false;
};

/// "here", or the set that is missing; "none" where there is no need of any.
std::string data_state(const Experiment& experiment, const std::filesystem::path& folder) {
  if (experiment.measure == "audit") return audit_data_state(experiment, folder);
  if (!experiment.measure.empty()) return "none";
  for (const ExperimentRow& row : experiment.rows) {
    const std::string name = row.recipe.empty() ? experiment.recipe : row.recipe;
    const auto text = carried_recipe(name);
    std::vector<std::string> settings;  // only what chooses the data
    for (const auto* list : {&experiment.set, &row.set}) {
      for (const std::string& setting : *list) {
        if (setting.starts_with("data.name=")) settings.push_back(setting);
      }
    }
    const auto recipe = text ? parse_recipe(*text, name, settings) : Result<Recipe>(Recipe{});
    if (!text || !recipe) return "recipe " + name + " is not valid";
    const KnownSet* const set = find_known_set(recipe->data.name);
    if (set == nullptr && !std::filesystem::exists(recipe->data.name)) {
      return recipe->data.name + " not here";
    }
    if (set == nullptr || set->variants.empty()) continue;
    if (!find_files(*set, folder)) return std::string(set->name) + " not here";
  }
  return "here";
}

int list(const std::vector<Experiment>& all, const Arguments& arguments) {
  Table table({"name", "paper", "where", "data", "what"});
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const Experiment& experiment : all) {
    const std::string data = data_state(experiment, arguments.options.data);
    table.add({experiment.name, experiment.family,
               experiment.where.empty() ? "-" : experiment.where, data, experiment.summary});
    entries.push_back({{"name", experiment.name},
                       {"family", experiment.family},
                       {"where", experiment.where},
                       {"summary", experiment.summary},
                       {"rows", experiment.rows.size()},
                       {"seeds", experiment.seeds},
                       {"data", data}});
  }
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"experiments", entries}}.dump(2));
  } else {
    fmt::print("{}", table.text());
  }
  return 0;
}

void print(const Arguments& arguments, const Reproduced& done) {
  if (arguments.json) return;
  if (arguments.markdown) {
    fmt::print("{}\n", done.markdown);
    return;
  }
  fmt::print("\n{}\nfiles in {}: results.json, results.csv, figure.svg{}, report.html\n\n",
             done.table, done.json["out"].get<std::string>(),
             done.json["format"] == "sotto.study.v1" ? ", curves.svg" : "");
}

Result<int> run(const Arguments& arguments) {
  SOTTO_TRY(const std::shared_ptr<Ranks> ranks, cluster::join());
  if (ranks && !ranks->leads()) return serve_runs(*ranks), 0;
  SOTTO_TRY(const std::vector<Experiment> all, experiments());
  if (arguments.list) return list(all, arguments);
  std::vector<Experiment> chosen;
  for (const std::string& name : arguments.names) {
    SOTTO_TRY(Experiment experiment, find_experiment(name));
    chosen.push_back(std::move(experiment));
  }
  if (arguments.all && !chosen.empty()) {
    return fail(ErrorKind::kUsage, "reproduce: --all and names do not go together");
  }
  if (arguments.all) chosen = all;
  if (arguments.all && arguments.options.show) {
    std::erase_if(chosen, [](const Experiment& experiment) { return !experiment.measure.empty(); });
  }
  if (chosen.empty()) {
    return fail(ErrorKind::kUsage,
                "reproduce: name an experiment (`sotto reproduce --list`), or "
                "give --all");
  }
  ReproduceOptions options = arguments.options;
  const bool several = arguments.all || chosen.size() > 1;
  if (several && !options.out.empty()) options.root = std::exchange(options.out, {});
  options.ranks = ranks;
  options.quiet = arguments.json || arguments.markdown;
  if (arguments.seeds > 0) options.seeds = arguments.seeds;
  int code = 0;
  Table outcomes({"experiment", "outcome", "time", "folder"});
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Experiment& experiment : chosen) {
    const Stopwatch clock;
    Result<Reproduced> done = reproduce(experiment, options);
    const auto note = [&](const std::string& outcome) {
      outcomes.add({experiment.name, outcome, duration(clock.seconds()),
                    done ? folder_of(experiment, options).string() : "-"});
    };
    if (!done && !several) return tl::unexpected<Error>(std::move(done).error());
    if (!done) {
      const bool absent = done.error().kind == ErrorKind::kNotFound;
      fmt::print(stderr, "sotto: {}: {}{}\n", experiment.name,
                 absent ? "not run: data not here: " : "", done.error().message);
      results.push_back({{"name", experiment.name},
                         {"not_run", absent ? "data not here" : done.error().message}});
      if (!absent || !arguments.all) code = 1;
      note(absent ? "not run: data not here" : "FAILED");
      continue;
    }
    print(arguments, *done);
    if (!done->failures.empty()) {
      fmt::print(stderr, "sotto: {}: {}", experiment.name, done->failures);
      code = 1;
    }
    note(done->failures.empty() ? "done" : "FAILED in part");
    results.push_back(std::move(done->json));
  }
  if (arguments.json) {
    fmt::print(
        "{}\n",
        (several ? nlohmann::ordered_json{{"experiments", results}} : results.front()).dump(2));
  }
  // Hours of tables have gone by: at the end stands what became of each.
  if (several && !options.quiet) fmt::print("{}", outcomes.text());
  return code;
}

}  // namespace

void add_reproduce(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("reproduce", "Repeat the experiments of the papers, theirs beside ours");
  auto arguments = choose<Arguments>(*sub, action, run);
  sub->add_option("NAME", arguments->names, "experiments (see --list)")->type_name("NAME");
  sub->add_flag("--list", arguments->list, "list the experiments, and stop");
  sub->add_flag("--all", arguments->all,
                "all of them; those whose data are missing are passed over");
  sub->add_flag("--quick", arguments->options.quick,
                "fewer rounds, clients or seeds: shows that it runs, not what it yields");
  sub->add_flag("--show", arguments->options.show,
                "the table and the figure of the runs that are there; starts nothing");
  sub->add_option("--seeds", arguments->seeds,
                  "number of seeds; default as the entry says, often 3")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  sub->add_option("--out", arguments->options.out,
                  "folder for the results, of several experiments with a folder for each; default "
                  "reproduce/NAME, quick ones reproduce/NAME-quick")
      ->type_name("DIR");
  sub->add_option("--data", arguments->options.data,
                  "folder with data sets; default $SOTTO_DATA, then the cache")
      ->type_name("DIR");
  sub->add_option("--device", arguments->options.device, "cpu, cuda or cuda:N")
      ->type_name("DEVICE");
  sub->add_option("--jobs", arguments->options.jobs, "runs side by side; default one for each core")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--threads", arguments->options.threads, "cores to use in all; default all")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--only", arguments->options.only,
                  "rows of this label, else rows whose label has this in it; of an experiment that "
                  "trains or audits")
      ->type_name("TEXT");
  sub->add_flag("--markdown", arguments->markdown, "print the table for docs/research/results.md");
  sub->add_flag("--json", arguments->json, "print the results as JSON");
  sub->footer(
      "What was killed goes on when it is started again. The exact epsilon of a client, which the\n"
      "papers do not give, stands beside every accuracy.\n\n"
      "Examples:\n"
      "  sotto reproduce --list\n"
      "  sotto reproduce srr-mnist --data ~/data\n"
      "  sotto reproduce srr-mnist --quick --json | jq '.configurations[] | [.label, .accuracy]'\n"
      "  sotto reproduce srr-mnist --only noise-free --seeds 1\n"
      "  sotto reproduce srr-mnist --show\n"
      "  sotto reproduce srr-latency --markdown\n"
      "  sotto reproduce --all --quick --out /tmp/all");
}

}  // namespace sotto::cli
