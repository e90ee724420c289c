// sotto report: run folders as one page, or as JSON for other programs.
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "report/report.h"

namespace sotto::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path out;
  std::string title;
  bool json = false;
};

Result<int> run_report(const Options& options) {
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
  CLI::App* const command = app.add_subcommand("report", "Show runs as one page of charts");
  command->add_option("DIR", options->folders, "folders that `sotto run` wrote")->required();
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
      "  sotto report runs/* --json | jq '.runs[] | [.name, .final.accuracy]'");
  command->callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace sotto::cli
