#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "sotto/version.h"

namespace sotto {
namespace {

std::string accuracy(const std::optional<Outcome>& outcome) {
  return outcome && outcome->accuracy ? percent(*outcome->accuracy) : "-";
}

/// The value that all runs share, or how many different ones there are: "mnist", "3 models".
template <class Get>
std::string common(const std::vector<RunRecord>& runs, Get get, std::string_view plural) {
  std::vector<std::string> values;
  for (const RunRecord& run : runs) values.push_back(get(run));
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values.size() == 1 ? values.front() : fmt::format("{} {}", values.size(), plural);
}

std::string lead(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return "";
  std::string text = common(
      runs, [](const RunRecord& r) { return r.data; }, "data sets");
  text += " \xC2\xB7 " + common(
                             runs, [](const RunRecord& r) { return r.model; }, "models");
  text += " \xC2\xB7 ";
  text += common(
      runs, [](const RunRecord& r) { return with_commas(r.clients) + " clients"; },
      "numbers of clients");
  text += " \xC2\xB7 ";
  text += common(
      runs, [](const RunRecord& r) { return "mechanism " + r.mechanism; }, "mechanisms");
  return text;
}

std::string tile(std::string_view label, std::string_view value, std::string_view below,
                 bool words = false) {
  return fmt::format("<dl class=\"tile\"><dt>{}</dt><dd{}>{}</dd>{}</dl>\n", escape(label),
                     words ? " class=\"text\"" : "", escape(value),
                     below.empty() ? "" : "<dd class=\"note\">" + escape(below) + "</dd>");
}

std::string tiles(const RunRecord& run) {
  const auto at_round = [](const std::optional<Outcome>& outcome) {
    return outcome ? "round " + with_commas(outcome->round) : std::string("not evaluated");
  };
  std::string out = "<div class=\"tiles\">\n";
  out += tile("Final accuracy", accuracy(run.final), at_round(run.final));
  out += tile("Best accuracy", accuracy(run.best), at_round(run.best));
  const std::string epsilon = client_epsilon(run);
  out += tile("Epsilon of a client", epsilon, "mechanism " + run.mechanism, epsilon.size() > 7);
  out += tile("Rounds", with_commas(run.rounds.size()), status_words(run));
  const std::string time = duration(run.total_seconds());
  out +=
      tile("Time", time, fmt::format("{} threads, {}", run.threads, run.device), time.size() > 8);
  return out + "</div>\n";
}

std::string summary(const std::vector<RunRecord>& runs, const std::vector<std::string>& labels) {
  std::string out =
      "<section class=\"card\"><h3>Summary</h3>\n<div class=\"scroll\"><table class=\"wide\">"
      "<thead><tr><th>Run</th><th>Data</th><th>Model</th><th class=\"n\">Parameters</th>"
      "<th>Mechanism</th><th>Epsilon of a client</th><th class=\"n\">Rounds</th>"
      "<th class=\"n\">Final accuracy</th><th class=\"n\">Best accuracy</th>"
      "<th class=\"n\">Time</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    out += fmt::format(
        "<tr><th>{}<a href=\"#run-{}\" title=\"{}\">{}</a></th><td>{}</td><td>{}</td>"
        "<td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        swatch(i), i + 1, escape(labels[i]), escape(shorten(labels[i], 40)),
        escape(shorten(run.data, 40)), escape(shorten(run.model, 40)), with_commas(run.parameters),
        escape(shorten(run.mechanism, 40)), epsilon_chip(run), with_commas(run.rounds.size()),
        accuracy(run.final), accuracy(run.best), duration(run.total_seconds()));
  }
  return out + "</tbody></table></div></section>\n";
}

/// Rounds that were not evaluated are left out, not gaps: the line goes on to the next value.
LineChart chart_of(const std::vector<RunRecord>& runs, const std::vector<std::string>& labels,
                   std::optional<double> RecordedRound::*value) {
  LineChart chart;
  chart.x_label = "round";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series series{labels[i], {}};
    for (const RecordedRound& round : runs[i].rounds) {
      if (!(round.*value)) continue;
      series.points.emplace_back(static_cast<double>(round.round), *(round.*value));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string charts(const std::vector<RunRecord>& runs, const std::vector<std::string>& labels) {
  LineChart accuracy_chart = chart_of(runs, labels, &RecordedRound::accuracy);
  accuracy_chart.title = "Accuracy by round";
  accuracy_chart.y_label = "share of test samples classified correctly";
  accuracy_chart.y_percent = true;
  LineChart loss_chart = chart_of(runs, labels, &RecordedRound::loss);
  loss_chart.title = "Loss by round";
  loss_chart.y_label = "mean loss on the test samples";
  std::string out = "<div class=\"charts\">\n";
  for (const LineChart* chart : {&accuracy_chart, &loss_chart}) {
    out += "<figure class=\"card chart\">\n" + to_svg(*chart) + "</figure>\n";
  }
  return out + "</div>\n";
}

}  // namespace

std::vector<std::string> run_labels(const std::vector<RunRecord>& runs) {
  const auto how_many = [&](auto same) { return std::count_if(runs.begin(), runs.end(), same); };
  std::vector<std::string> labels;
  for (const RunRecord& run : runs) {
    const std::string folder = run.folder.filename().string();
    const auto same_name = [&](const RunRecord& r) { return r.name == run.name; };
    const auto same_folder = [&](const RunRecord& r) {
      return same_name(r) && r.folder.filename() == run.folder.filename();
    };
    if (how_many(same_name) == 1) {
      labels.push_back(run.name);
    } else if (how_many(same_folder) == 1 && !folder.empty()) {
      labels.push_back(run.name + " (" + folder + ")");
    } else {
      labels.push_back(run.name + " (" + run.folder.string() + ")");
    }
  }
  return labels;
}

std::string render_report(const std::vector<RunRecord>& runs, const std::string& title) {
  const std::vector<std::string> labels = run_labels(runs);
  const std::string heading = !title.empty()     ? title
                              : runs.size() == 1 ? runs.front().name
                                                 : fmt::format("{} runs compared", runs.size());
  std::string body;
  if (runs.size() == 1) body += tiles(runs.front());
  if (!runs.empty()) body += summary(runs, labels) + charts(runs, labels);
  for (std::size_t i = 0; i < runs.size(); ++i) body += run_section(runs[i], labels[i], i);
  return report_page(heading, lead(runs), body);
}

std::string report_page(const std::string& heading, const std::string& below,
                        const std::string& body) {
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n"
             "<p class=\"eyebrow\">Federated learning report</p>\n<h1>{0}</h1>\n"
             "<p class=\"lead\">{2}</p>\n",
             escape(heading), report_style(), escape(below)) +
         body +
         "<footer>Written by sotto " SOTTO_VERSION
         ". Epsilon is one client's over the whole training, under the assumptions that stand "
         "with its claim; smaller is more private.</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace sotto
