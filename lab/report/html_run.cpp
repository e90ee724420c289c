// One run on the page: privacy, recipe, times, versions, and the rounds as numbers.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/svg.h"

namespace sotto {
namespace {

constexpr std::size_t kMostRows = 500;  // of the table of rounds

std::string status_chip(const RunRecord& run) {
  const std::string_view css = run.status == RunStatus::kFinished ? "good"
                               : run.status == RunStatus::kFailed ? "bad"
                                                                  : "warn";
  return fmt::format("<span class=\"chip {}\">{}</span>", css, escape(status_words(run)));
}

std::string recipe_section(const RunRecord& run) {
  std::string out = "<section class=\"card recipe\"><h3>Recipe</h3>\n<div class=\"columns\">\n";
  for (const RecipeSection& section : run.recipe) {
    if (section.entries.empty()) continue;
    out += fmt::format("<div><h4>{}</h4><table><tbody>\n",
                       escape(section.name.empty() ? "general" : section.name));
    for (const auto& [key, value] : section.entries) {
      out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape(key), escape(value));
    }
    out += "</tbody></table></div>\n";
  }
  return out + "</div></section>\n";
}

/// "train_seconds" -> "train"
std::string part_name(const std::string& key) {
  constexpr std::string_view kSuffix = "_seconds";
  return key.ends_with(kSuffix) ? key.substr(0, key.size() - kSuffix.size()) : key;
}

std::string time_section(const RunRecord& run) {
  std::vector<std::pair<std::string, double>> parts;
  double sum = 0.0;
  for (const auto& [key, seconds] : run.timings) {
    if (key == "total_seconds") continue;
    parts.emplace_back(part_name(key), seconds);
    sum += seconds;
  }
  // Parts that threads spend at the same time can exceed the total; then there is no rest.
  const double total = run.total_seconds();
  if (!parts.empty() && total - sum > 0.005 * total) {
    parts.emplace_back("other", total - sum);
    sum = total;
  }
  std::string bar;
  std::string list;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [name, seconds] = parts[i];
    bar += fmt::format("<span class=\"c{}\" style=\"width:{}%\" title=\"{}\"></span>",
                       i % kPalette.size(), coordinate(sum > 0.0 ? 100.0 * seconds / sum : 0.0),
                       escape(name + ": " + duration(seconds)));
    list += fmt::format("<dt>{}{}</dt><dd>{}</dd>", swatch(i), escape(name), duration(seconds));
  }
  std::string out = "<section class=\"card\"><h3>Time and traffic</h3>\n";
  if (!bar.empty()) out += "<div class=\"bar\">" + bar + "</div>\n";
  out += "<dl class=\"facts\">" + list + fact("total", duration(total));
  if (!run.rounds.empty()) {
    out += fact("sent by clients", byte_size(run.bytes_up()));
    out += fact("sent in a round, on average", byte_size(run.bytes_up() / run.rounds.size()));
  }
  return out + "</dl></section>\n";
}

std::string setting_section(const RunRecord& run) {
  std::string out = "<section class=\"card\"><h3>How it was run</h3>\n<dl class=\"facts\">";
  out += fact("recipe", run.recipe_file) + fact("started", run.started);
  out += fact("seed", std::to_string(run.seed)) + fact("threads", std::to_string(run.threads));
  out += fact("device", run.device);
  if (!run.machine.empty()) out += fact("machine", run.machine);
  for (const auto& [name, version] : run.versions) out += fact(name, version);
  return out + "</dl></section>\n";
}

std::string rounds_section(const RunRecord& run) {
  if (run.rounds.empty()) return "";
  const std::size_t stride = (run.rounds.size() + kMostRows - 1) / kMostRows;
  std::string out = fmt::format(
      "<details class=\"card\"><summary>{} rounds as numbers{}</summary>\n"
      "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th class=\"n\">Round</th>"
      "<th class=\"n\">Clients</th><th class=\"n\">Refused</th><th class=\"n\">Reports</th>"
      "<th class=\"n\">Released</th><th class=\"n\">Accuracy</th>"
      "<th class=\"n\">Loss</th><th class=\"n\">Time</th><th class=\"n\">Training</th>"
      "<th class=\"n\">Evaluation</th><th class=\"n\">Sent</th></tr></thead><tbody>\n",
      with_commas(run.rounds.size()),
      stride > 1 ? fmt::format(" (one in {} and the last)", stride) : "");
  for (std::size_t i = 0; i < run.rounds.size(); ++i) {
    if (i % stride != 0 && i + 1 != run.rounds.size()) continue;
    const RecordedRound& round = run.rounds[i];
    out += "<tr>";
    for (const std::string& cell :
         {std::to_string(round.round), with_commas(round.clients), with_commas(round.refused),
          with_commas(round.reports), with_commas(round.released),
          round.accuracy ? percent(*round.accuracy) : std::string("-"),
          round.loss ? number(*round.loss, 5) : std::string("-"), duration(round.round_seconds),
          duration(round.train_seconds), duration(round.evaluate_seconds),
          byte_size(round.bytes_up)}) {
      out += "<td class=\"n\">" + cell + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></details>\n";
}

}  // namespace

std::string status_words(const RunRecord& run) {
  const bool early = run.stopped && *run.stopped != "rounds";
  const std::string words(name_of(run.status));
  return early ? words + " early: " + *run.stopped : words;
}

std::string fact(std::string_view label, std::string_view value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(label), escape(value));
}

std::string swatch(std::size_t index) {
  return fmt::format("<span class=\"swatch c{}\"></span>", index % kPalette.size());
}

std::string run_section(const RunRecord& run, const std::string& label, std::size_t index) {
  std::string out = fmt::format(
      "<section class=\"run\" id=\"run-{}\">\n<header><h2>{}{}</h2>{}</header>\n"
      "<p class=\"lead\">{}</p>\n",
      index + 1, swatch(index), escape(label), status_chip(run),
      escape(fmt::format("{} parameters of {} on {}: {} training and {} test samples, {} over {} "
                         "clients",
                         with_commas(run.parameters), run.model, run.data,
                         with_commas(run.train_samples), with_commas(run.test_samples),
                         run.partition, with_commas(run.clients))));
  for (const std::string& note : run.notes) {
    out += fmt::format("<div class=\"banner warn\">{}</div>\n", escape(note));
  }
  out += privacy_section(run) + recipe_section(run);
  out += "<div class=\"pair\">\n" + time_section(run) + setting_section(run) + "</div>\n";
  return out + rounds_section(run) + "</section>\n";
}

}  // namespace sotto
