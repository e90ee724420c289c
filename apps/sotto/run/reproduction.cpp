#include "reproduction.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "experiment/measure.h"
#include "report/findings.h"
#include "report/markup.h"
#include "reproduce_attack.h"
#include "reproduce_audit.h"
#include "reproduce_measured.h"
#include "study_shown.h"
#include "terminal.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string command_text(const Experiment& experiment, const ReproduceOptions& options) {
  std::string text = "sotto reproduce " + experiment.name;
  if (options.quick) text += " --quick";
  if (options.seeds) text += fmt::format(" --seeds {}", *options.seeds);
  if (!options.device.empty()) text += " --device " + options.device;
  if (!options.only.empty()) text += " --only '" + options.only + "'";
  return text;
}

std::string heading(const Experiment& experiment, const ReproduceOptions& options) {
  return fmt::format("{} ({}{}): {}{}", experiment.name, experiment.family,
                     experiment.where.empty() ? "" : ", " + experiment.where, experiment.summary,
                     options.quick ? "\nQUICK: fewer rounds, clients or seeds than the experiment "
                                     "has; not to be compared with the paper"
                                   : "");
}

/// A cell of a Markdown table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return " " + text + " |";
}

std::string markdown_head(const Experiment& experiment, const ReproduceOptions& options,
                          const std::string& facts) {
  std::string text = "### " + experiment.name + (options.quick ? " (quick)" : "") + "\n\n" +
                     experiment.summary + ".";
  if (!experiment.note.empty()) text += ' ' + experiment.note;
  return text + "\n\n`" + command_text(experiment, options) + "`: " + facts + ".\n\n";
}

/// "98.35 ± 0.10 %", and of how many runs where some are missing.
std::string measured_words(const Finding& finding, std::size_t seeds) {
  std::string text = accuracy_words(finding);
  if (finding.accuracy && finding.accuracy->count < seeds) {
    text += fmt::format(" ({} of {} runs)", finding.accuracy->count, seeds);
  }
  return text;
}

std::string markdown_of(const Experiment& experiment, const ReproduceOptions& options,
                        const Summary& summary) {
  const std::size_t seeds = summary.study->seeds.size();
  std::string text = markdown_head(
      experiment, options,
      fmt::format("{}, {}, seeds 1{}, {} of training, {}", summary.date, summary.machine,
                  seeds > 1 ? fmt::format("-{}", seeds) : "", duration(summary.seconds),
                  summary.study->statistic == "best" ? "best round" : "last round"));
  text +=
      "| configuration | paper | measured | epsilon of one weight | of one record | of a client | "
      "time |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  std::string notes;
  for (const Finding& finding : summary.findings) {
    const Configuration& configuration = *finding.configuration;
    text += "|" + cell(configuration.label) + cell(paper_text(configuration.paper)) +
            cell(measured_words(finding, seeds)) + cell(epsilon_words(finding.unit)) +
            cell(record_words(finding)) + cell(epsilon_words(finding.client)) +
            cell(duration(finding.seconds)) + "\n";
    const std::string note = configuration.note.empty()
                                 ? ""
                                 : "- " + configuration.series + ": " + configuration.note + "\n";
    if (!note.empty() && notes.find(note) == std::string::npos) notes += note;
  }
  return text + (notes.empty() ? "" : "\n" + notes);
}

Json at_or_null(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() ? *found : Json();
}

/// Points of other experiments: "srr-mnist: SRR, epsilon = 5 => SRR-FL, epsilon 5".
std::vector<NamedPoint> compared(const Experiment& experiment, const std::filesystem::path& out) {
  std::vector<NamedPoint> points;
  for (const std::string& entry : experiment.compare) {
    const std::size_t colon = entry.find(": ");
    if (colon == std::string::npos) continue;
    const std::string name = entry.substr(0, colon);
    const std::size_t arrow = entry.find(" => ", colon);
    const std::string label =
        entry.substr(colon + 2, arrow == std::string::npos ? std::string::npos : arrow - colon - 2);
    const std::filesystem::path file = out.parent_path() / name / "results.json";
    const Result<std::string> text = read_text(file);
    // A file that is not there, or is not what an experiment writes, only lacks the point.
    const Json json = text ? Json::parse(*text, nullptr, false) : Json();
    const Json rows = at_or_null(json, "configurations");
    bool found = false;
    for (const Json& row : rows.is_array() ? rows : Json::array()) {
      const Json accuracy = at_or_null(row, "accuracy");
      if (at_or_null(row, "label") != label || !accuracy.is_number()) continue;
      const Json epsilon = at_or_null(at_or_null(at_or_null(row, "claims"), "client"), "epsilon");
      points.push_back(
          {arrow == std::string::npos ? label : entry.substr(arrow + 4),
           epsilon.is_number() ? epsilon.get<double>() : std::numeric_limits<double>::infinity(),
           accuracy.get<double>()});
      found = true;
    }
    if (!found) {
      fmt::print(stderr, "sotto: the figure lacks '{}' of {}: run `sotto reproduce {}` first\n",
                 label, name, name);
    }
  }
  return points;
}

std::vector<std::string> figures_of(const Experiment& experiment, const Summary& summary) {
  if (experiment.figure == "privacy") {
    return {to_svg(privacy_chart(summary, compared(experiment, summary.study->out)))};
  }
  if (experiment.figure == "rounds") return {to_svg(rounds_chart(summary))};
  std::vector<std::string> figures;
  if (experiment.figure == "varied") {
    for (LineChart chart : varied_charts(summary)) {
      chart.title = experiment.name + ": " + chart.title;
      figures.push_back(to_svg(chart));
    }
  }
  if (figures.empty()) figures.push_back(to_svg(bars_chart(summary)));
  return figures;
}

/// Takes away what was written for runs that cannot begin; a folder with anything else in it stays.
void forget_folder(const std::filesystem::path& out) {
  std::error_code code;
  std::filesystem::remove_all(out / "recipes", code);
  std::filesystem::remove(out, code);
}

Result<Reproduced> reproduce_cost(const Experiment& experiment, const ReproduceOptions& options) {
  SOTTO_TRY(const std::vector<MeasuredCost> costs,
            measure_perturbation(experiment, options.quick ? 3 : 21));
  const auto seconds = [](double value) {
    return value < 0.1 ? number(1000.0 * value, 3) + " ms" : number(value, 4) + " s";
  };
  Measured measured;
  measured.json = costs_json(experiment, costs, options.quick);
  measured.csv = costs_csv(costs);
  measured.figures = {to_svg(costs_chart(experiment, costs))};
  measured.facts = fmt::format("{}, {}, one thread, median", today(), machine_text());
  measured.header = {
      "configuration", "weights", "paper", "perturbation", "making the mechanism, once", "memory"};
  for (const MeasuredCost& cost : costs) {
    measured.rows.push_back({cost.label, with_commas(static_cast<std::uint64_t>(cost.weights)),
                             cost.paper ? seconds(cost.paper->high) : "-",
                             seconds(cost.perturb_seconds), seconds(cost.prepare_seconds),
                             byte_size(static_cast<std::uint64_t>(cost.memory_bytes))});
  }
  return show_measured(experiment, options, measured);
}

}  // namespace

std::filesystem::path folder_of(const Experiment& experiment, const ReproduceOptions& options) {
  if (!options.out.empty()) return options.out;
  return options.root / (experiment.name + (options.quick ? "-quick" : ""));
}

Result<Reproduced> reproduce(const Experiment& experiment, const ReproduceOptions& options) {
  if (options.show && !experiment.measure.empty()) {
    return fail(ErrorKind::kUsage, "reproduce: --show is for experiments of runs; " +
                                       experiment.name + " measures anew");
  }
  if (experiment.measure == "audit") return reproduce_audit(experiment, options);
  if (!options.only.empty() && !experiment.measure.empty()) {
    return fail(ErrorKind::kUsage, "reproduce: --only is for experiments that train or audit");
  }
  if (experiment.measure == "shuffled") return reproduce_shuffled(experiment, options);
  if (experiment.measure == "refutations") return reproduce_refutations(experiment, options);
  if (experiment.measure == "weight-inference") return reproduce_attack(experiment, options);
  if (!experiment.measure.empty()) return reproduce_cost(experiment, options);
  StudyRequest request;
  request.out = folder_of(experiment, options);
  request.data_folder = options.data;
  request.seeds = options.seeds;
  request.device = options.device;
  request.quick = options.quick;
  const bool fresh = !std::filesystem::exists(request.out);
  if (fresh && options.show) {
    return fail(ErrorKind::kIo, request.out.string() +
                                    ": there is no such folder; without --show " + experiment.name +
                                    " is run there");
  }
  SOTTO_TRY(Study study, make_study(experiment, request));
  SOTTO_CHECK(keep_only(study.configurations, experiment.name, options.only, &Configuration::series,
                        &Configuration::label));
  study.part = !options.only.empty();
  const auto ran =
      run_study_shown(study, {options.jobs, options.threads, !options.quiet && !options.show,
                              options.ranks, !options.show});
  if (!ran) {
    if (fresh && ran.error().kind == ErrorKind::kNotFound) forget_folder(request.out);
    return tl::unexpected<Error>(ran.error());
  }
  const Summary& summary = *ran;
  SOTTO_CHECK(write_results(summary, figures_of(experiment, summary)));
  Reproduced done;
  done.json = results_json(summary);
  done.json["out"] = study.out.string();
  done.table = heading(experiment, options) + "\n\n" + findings_table(summary);
  if (options.show && !summary.complete()) done.table += "\nnot every run has been made yet\n";
  if (!experiment.note.empty()) done.table += "\n" + experiment.note + "\n";
  done.markdown = markdown_of(experiment, options, summary);
  done.failures = failures_text(summary);
  return done;
}

Result<Reproduced> show_measured(const Experiment& experiment, const ReproduceOptions& options,
                                 const Measured& measured) {
  const std::filesystem::path out = folder_of(experiment, options);
  SOTTO_CHECK(write_findings(out, measured.json, measured.csv));
  FindingsPage page{experiment.name + ": " + experiment.summary,
                    measured.facts,
                    "",
                    measured.header,
                    measured.rows,
                    measured.notes,
                    numbered_figures(measured.figures)};
  if (options.quick) {
    page.warning =
        "Quick: fewer trials, measurements or rounds than the experiment has. These numbers show "
        "that it runs, not what it yields.";
  }
  if (!experiment.note.empty()) page.notes.push_back(experiment.note);
  SOTTO_CHECK(write_findings_page(out, page));

  Reproduced done;
  Table table(measured.header);
  done.markdown = markdown_head(experiment, options, measured.facts) + "|";
  for (const std::string& text : measured.header) done.markdown += cell(text);
  done.markdown += "\n|";
  for (std::size_t i = 0; i < measured.header.size(); ++i) done.markdown += " --- |";
  done.markdown += "\n";
  for (const std::vector<std::string>& row : measured.rows) {
    table.add(row);
    done.markdown += "|";
    for (const std::string& text : row) done.markdown += cell(text);
    done.markdown += "\n";
  }
  done.table = heading(experiment, options) + "\n\n" + table.text();
  if (!experiment.note.empty()) done.table += "\n" + experiment.note + "\n";
  for (const std::string& note : measured.notes) {
    done.table += "\n" + note + "\n";
    done.markdown += "\n" + note + "\n";
  }
  done.json = measured.json;
  done.json["out"] = out.string();
  return done;
}

}  // namespace sotto::cli
