// sotto demo: what local privacy costs, on data that needs no download, in under 90 seconds:
// without noise, with the SRR setting of its authors, with a tuned one, and with two-point.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "command.h"
#include "experiment/registry.h"
#include "sotto/claims.h"
#include "study_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

struct Arguments {
  std::string out = "runs/demo";
  unsigned threads = 0;
  bool json = false;
};

struct DemoRow {
  const char* label;
  const char* folder;
  std::vector<std::string> settings;
};

/// One epsilon for all, of one weight in one round: what the authors' claims are about.
const std::vector<DemoRow>& rows() {
  static const std::vector<std::string> kRange = {"privacy.epsilon=5", "privacy.radius=0.15"};
  static const auto kWith = [](std::vector<std::string> settings) {
    settings.insert(settings.end(), kRange.begin(), kRange.end());
    return settings;
  };
  static const std::vector<DemoRow> kRows = {
      {"noise-free", "noise-free", {"privacy.mechanism=none"}},
      {"SRR, the paper's setting", "srr-paper",
       kWith({"privacy.mechanism=srr", "privacy.groups=10", "privacy.step=20"})},
      {"SRR, tuned", "srr-tuned",
       kWith({"privacy.mechanism=srr", "privacy.groups=2", "privacy.step=2000"})},
      {"two-point", "two-point", kWith({"privacy.mechanism=two-point"})},
  };
  return kRows;
}

Result<Study> demo_study(const std::filesystem::path& out) {
  Study study;
  study.name = "demo";
  study.title = "Sotto demo: what local privacy costs";
  study.out = out;
  const std::filesystem::path recipe = out / "recipes" / "embedded.toml";
  SOTTO_TRY(const std::string text, carried_recipe("embedded"));
  SOTTO_CHECK(write_file_atomically(recipe, text));
  for (const DemoRow& row : rows()) {
    Configuration configuration;
    configuration.label = row.label;
    configuration.series = row.label;
    configuration.folder = row.folder;
    configuration.recipe = recipe;
    configuration.settings = row.settings;
    study.configurations.push_back(std::move(configuration));
  }
  return study;
}

/// An earlier demo's runs: only what a demo writes is taken away.
void clear(const std::filesystem::path& out) {
  std::error_code code;
  for (const DemoRow& row : rows()) {
    if (std::filesystem::exists(out / row.folder / "run.json", code)) {
      std::filesystem::remove_all(out / row.folder, code);
    }
  }
}

Result<int> demo(const Arguments& arguments) {
  clear(arguments.out);
  SOTTO_TRY(const Study study, demo_study(arguments.out));
  if (!arguments.json) {
    fmt::print(
        "Federated training on the embedded data, with four ways to send weights: {} runs.\n\n",
        study.configurations.size());
  }
  SOTTO_TRY(const Summary summary, run_study_shown(study, {0, arguments.threads, false}));
  SOTTO_CHECK(write_results(summary, {}));
  const std::filesystem::path report = study.out / "report.html";
  if (arguments.json) {
    nlohmann::ordered_json json = results_json(summary);
    json["out"] = study.out.string();
    json["report"] = report.string();
    fmt::print("{}\n", json.dump(2));
  } else {
    Table table({"weights are sent", "accuracy", "epsilon of one weight, one round",
                 "epsilon of a client, whole training", "time"});
    for (const Finding& finding : summary.findings) {
      table.add({finding.configuration->label, accuracy_words(finding), epsilon_words(finding.unit),
                 epsilon_words(finding.client), duration(finding.seconds)});
    }
    fmt::print("{}\n", table.text());
    fmt::print(
        "An epsilon of one weight protects that weight, once. A client sends thousands, in "
        "several\n"
        "rounds, and their epsilons add up: above {} the promise is vacuous, e^{} protects "
        "nobody.\n"
        "A recipe that keeps a real promise: docs/research/client-level.md.\n\n",
        Claim::kVacuous, Claim::kVacuous);
    fmt::print("report: {}\n", std::filesystem::absolute(report).string());
  }
  if (summary.complete()) return 0;
  fmt::print(stderr, "sotto: {}", failures_text(summary));
  return 1;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  CLI::App* const sub =
      app.add_subcommand("demo", "See what local privacy costs, on the embedded data, in a minute");
  auto arguments = choose<Arguments>(*sub, action, demo);
  sub->add_option("--out", arguments->out, "folder for the results; an earlier demo is replaced")
      ->capture_default_str()
      ->type_name("DIR");
  sub->add_option("--threads", arguments->threads, "cores to use; default all")
      ->type_name("N")
      ->check(CLI::Range(1U, 4096U));
  sub->add_flag("--json", arguments->json, "print the result as JSON");
  sub->footer(
      "Examples:\n  sotto demo\n"
      "  sotto demo --out /tmp/demo --json | jq '.configurations[] | [.label, .accuracy]'");
}

}  // namespace sotto::cli
