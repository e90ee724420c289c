// The overlaid page of a study: what was found in one table, all curves in one picture, and for
// every configuration what its clients were promised. Without scripts, as all our pages.
#include <fmt/format.h>

#include "base/text.h"
#include "experiment/results.h"
#include "report/html_parts.h"
#include "report/markup.h"

namespace sotto {
namespace {

std::string claim_chip(const std::optional<Claim>& claim) {
  const bool none = !claim || claim->epsilon > 1e300;
  const char* const css = none ? "bad" : claim->vacuous() ? "warn" : "good";
  return fmt::format("<span class=\"chip {}\">{}</span>", css, escape(epsilon_words(claim)));
}

std::string table(const Summary& summary) {
  bool papers = false;
  for (const Finding& finding : summary.findings) {
    papers = papers || finding.configuration->paper.has_value();
  }
  std::string out =
      "<section class=\"card\"><h3>Found</h3>\n<div class=\"scroll\"><table class=\"wide\"><thead>"
      "<tr><th>Configuration</th><th class=\"n\">Accuracy</th>";
  if (papers) out += "<th class=\"n\">Paper</th>";
  out +=
      "<th class=\"n\">Runs</th><th>Mechanism</th><th>Epsilon of one weight</th>"
      "<th>Epsilon of a client</th><th class=\"n\">Time</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < summary.findings.size(); ++i) {
    const Finding& finding = summary.findings[i];
    const Configuration& configuration = *finding.configuration;
    out += fmt::format(
        "<tr><th>{}<a href=\"#run-{}\" title=\"{}\">{}</a></th><td class=\"n\">{}</td>", swatch(i),
        i + 1, escape(configuration.label), escape(shorten(configuration.label, 48)),
        finding.accuracy ? escape(accuracy_text(*finding.accuracy)) : "-");
    if (papers) out += "<td class=\"n\">" + escape(paper_text(configuration.paper)) + "</td>";
    out += fmt::format("<td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td>",
                       finding.runs.size(), escape(finding.mechanism),
                       escape(epsilon_words(finding.unit)), claim_chip(finding.client));
    out += fmt::format("<td class=\"n\">{}</td></tr>\n", duration(finding.seconds));
  }
  return out + "</tbody></table></div></section>\n";
}

std::string failures(const Summary& summary) {
  std::string out;
  for (const Finding& finding : summary.findings) {
    for (const auto& [name, why] : finding.failed) {
      out += fmt::format("<div class=\"banner bad\"><b>{} failed</b><span>{}</span></div>\n",
                         escape(name), escape(why.empty() ? "it did not end" : why));
    }
  }
  return out;
}

}  // namespace

std::string overlaid_page(const Summary& summary, const std::vector<std::string>& figures) {
  std::string body;
  if (summary.study->quick) {
    body +=
        "<div class=\"banner warn\"><b>Quick</b><span>Fewer rounds, clients or seeds than the "
        "experiment has: these numbers show that it runs, not what it yields.</span></div>\n";
  }
  body += failures(summary) + table(summary);
  const bool several = figures.size() > 1;
  if (several) body += "<div class=\"charts\">\n";
  for (const std::string& figure : figures) {
    body += fmt::format("<figure class=\"card chart\"{}>\n{}</figure>\n",
                        several ? "" : " style=\"max-width:880px;margin-bottom:20px\"", figure);
  }
  if (several) body += "</div>\n";
  std::size_t runs = 0;
  for (std::size_t i = 0; i < summary.findings.size(); ++i) {
    const Finding& finding = summary.findings[i];
    runs += finding.runs.size();
    if (finding.runs.empty()) continue;
    body += run_section(finding.runs.front(), finding.configuration->label, i);
    if (!finding.configuration->note.empty()) {
      body += fmt::format("<p class=\"lead\">{}</p>\n", escape(finding.configuration->note));
    }
  }
  const std::string lead = fmt::format(
      "{} configurations \u00b7 {} runs \u00b7 {} of training \u00b7 {} \u00b7 {}",
      summary.findings.size(), runs, duration(summary.seconds), summary.machine, summary.date);
  return report_page(summary.study->title, lead, body);
}

}  // namespace sotto
