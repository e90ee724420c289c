// sotto demo: what local privacy costs, on data that needs no download, in under 90 seconds:
// without noise, with the SRR setting of its authors, with a tuned one, and with two-point, whose
// promises to a client are vacuous; and with one-sample clients behind a shuffler, where it holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "command.h"
#include "experiment/registry.h"
#include "report/markup.h"
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
  const char* recipe;
  std::vector<std::string> settings;
};

/// A row whose clients have a guarantee for the whole training, which is the longest run and starts
/// first; then rows of one epsilon for each weight in one round, which authors' claims are about.
const std::vector<DemoRow>& rows() {
  static const std::vector<std::string> kRange = {"privacy.epsilon=5", "privacy.radius=0.15"};
  static const auto kWith = [](std::vector<std::string> settings) {
    settings.insert(settings.end(), kRange.begin(), kRange.end());
    return settings;
  };
  static const std::vector<DemoRow> kRows = {
      {"whole gradient, shuffled",
       "client-level",
       "client-level-embedded",
       {"federation.rounds=10", "privacy.epsilon=3.8034"}},
      {"noise-free", "noise-free", "embedded", {"privacy.mechanism=none"}},
      {"SRR, the paper's setting", "srr-paper", "embedded",
       kWith({"privacy.mechanism=srr", "privacy.groups=10", "privacy.step=20"})},
      {"SRR, tuned", "srr-tuned", "embedded",
       kWith({"privacy.mechanism=srr", "privacy.groups=2", "privacy.step=2000"})},
      {"two-point", "two-point", "embedded", kWith({"privacy.mechanism=two-point"})},
  };
  return kRows;
}

Result<Study> demo_study(const std::filesystem::path& out) {
  Study study;
  study.name = "demo";
  study.title = "Sotto demo: what local privacy costs";
  study.out = out;
  for (const DemoRow& row : rows()) {
    const std::filesystem::path recipe = out / "recipes" / fmt::format("{}.toml", row.recipe);
    SOTTO_TRY(const std::string text, carried_recipe(row.recipe));
    SOTTO_CHECK(write_file_atomically(recipe, text));
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

/// In one word, what a row's clients are promised for the whole training.
std::string promise_of(const Finding& finding) {
  if (!finding.client) return "-";
  if (std::isinf(finding.client->epsilon)) return "none";
  return finding.client->vacuous() ? "vacuous" : "holds";
}

void print_table(const Summary& summary) {
  Table table({"what clients send", "accuracy", "epsilon of one weight, one round",
               "epsilon of a client, whole training", "promise"});
  const auto number = [](const std::optional<Claim>& claim) {
    if (!claim) return std::string("-");
    if (std::isinf(claim->epsilon)) return std::string("infinite");
    return number_up(claim->epsilon) +
           (claim->delta > 0.0 ? ", delta " + number_up(claim->delta) : "");
  };
  // The one that holds ends the table.
  std::vector<Finding> findings = summary.findings;
  std::rotate(findings.begin(), findings.begin() + 1, findings.end());
  for (const Finding& finding : findings) {
    table.add({finding.configuration->label, accuracy_words(finding), number(finding.unit),
               number(finding.client), promise_of(finding)});
  }
  fmt::print("{}\n", table.text());
}

/// Says of each row whether its number protects anybody.
void print_reading(const Summary& summary) {
  fmt::print(
      "Vacuous: an epsilon of one weight, which publications state, protects that weight, once. A\n"
      "client sends thousands, in several rounds, and their epsilons add up. Above {} the promise\n"
      "is empty: e^{} protects nobody.\n",
      Claim::kVacuous, Claim::kVacuous);
  const std::optional<Claim>& promise = summary.findings.front().client;
  if (promise && !promise->vacuous()) {
    fmt::print(
        "Holds: in the last row 12,000 clients of one image each send one randomized gradient a\n"
        "round, and a shuffler hides who sent which. Whatever a client's image is, it changes the\n"
        "probability of anything that the server sees in the whole training by a factor of {} at\n"
        "most, except with probability {}. A simulation's random bits are public and show the\n"
        "plan; clients of a federation draw their own. To derive the promise again:\n"
        "  sotto account check {}\n\n",
        number_up(std::exp(promise->epsilon)), number_up(promise->delta),
        (summary.study->out / rows().front().folder / "certificate.json").string());
  }
}

Result<int> demo(const Arguments& arguments) {
  clear(arguments.out);
  SOTTO_TRY(const Study study, demo_study(arguments.out));
  if (!arguments.json) {
    fmt::print(
        "Federated training on the embedded data, {} runs: three promises that protect nobody,\n"
        "and one that holds. Less than a minute on 2 cores.\n\n",
        study.configurations.size());
    std::fflush(stdout);
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
    print_table(summary);
    print_reading(summary);
    fmt::print("report: {}\n", std::filesystem::absolute(report).string());
    fmt::print("next:   docs/start/first-guarantee.md, a recipe of your own with such a promise\n");
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
