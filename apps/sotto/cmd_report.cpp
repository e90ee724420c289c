// sotto report: folders of runs, or of audits and attacks, as one page, or as JSON for other
// programs.
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "command.h"
#include "report/findings.h"
#include "report/report.h"

namespace sotto::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path out;
  std::string title;
  bool json = false;
};

/// Folders of audits, attacks and measured experiments.
Result<int> report_findings(const Options& options) {
  std::vector<FindingsPage> pages;
  for (const std::filesystem::path& folder : options.folders) {
    if (!holds_findings(folder)) {
      return fail(ErrorKind::kUsage, folder.string() + " holds no findings, and " +
                                         options.folders.front().string() +
                                         " does: runs and findings go on pages of their own");
    }
    SOTTO_TRY(FindingsPage page, read_findings(folder));
    pages.push_back(std::move(page));
  }
  if (options.json) {
    fmt::print("{}", findings_json(pages));
    if (options.out.empty()) return 0;
  }
  const auto page = options.out.empty() ? default_report_path(options.folders) : options.out;
  SOTTO_CHECK(write_file_atomically(page, render_findings(pages, options.title)));
  fmt::print(stderr, "wrote {}\n", page.string());
  return 0;
}

Result<int> run_report(const Options& options) {
  if (holds_findings(options.folders.front())) return report_findings(options);
  if (options.json) {
    SOTTO_TRY(const auto runs, read_runs(options.folders));
    fmt::print("{}", report_json(runs));
    if (options.out.empty()) return 0;
  }
  SOTTO_TRY(const auto page, write_report(options.folders, options.out, options.title));
  fmt::print(stderr, "wrote {}\n", page.string());
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("report", "Show runs, audits or attacks as one page of charts");
  command
      ->add_option("DIR", options->folders,
                   "folders that `sotto run` wrote, or `sotto audit --out`, `sotto attack "
                   "--out`, `sotto reproduce`")
      ->required();
  command->add_option("--out", options->out,
                      "file to write (default: DIR/report.html, or report.html for several runs)");
  command->add_option("--title", options->title, "heading of the page");
  command->add_flag("--json", options->json,
                    "print the records to standard output; no page unless --out asks for one");
  command->footer(
      "The page is one file without scripts: it opens offline and can be mailed or printed.\n"
      "Examples:\n"
      "  sotto report runs/srr-mnist\n"
      "  sotto report runs/srr-mnist runs/none-mnist --out comparison.html --title 'SRR or none'\n"
      "  sotto report reproduce/measure-ldp reproduce/measure-norm --out audits.html\n"
      "  sotto report runs/* --json | jq '.runs[] | [.name, .final.accuracy]'");
  command->callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace sotto::cli
