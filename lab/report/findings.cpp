#include "report/findings.h"

#include <fmt/format.h>

#include "base/file.h"
#include "record/fields.h"
#include "report/html_parts.h"
#include "report/markup.h"

namespace sotto {
namespace {

constexpr const char* kFile = "page.json";
constexpr std::size_t kMostText = std::size_t{1} << 24;  // bytes of page.json and of one picture

Json to_json(const FindingsPage& page) {
  Json figures = Json::array();
  for (const Figure& figure : page.figures) figures.push_back(figure.file);
  return {{"format", "sotto.page.v1"}, {"heading", page.heading}, {"below", page.below},
          {"warning", page.warning},   {"columns", page.columns}, {"rows", page.rows},
          {"notes", page.notes},       {"figures", figures}};
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<std::vector<std::string>> texts(const Fields& fields, const char* key) {
  SOTTO_TRY(const Json* const array, fields.array(key));
  std::vector<std::string> all;
  for (const Json& item : *array) {
    if (!item.is_string()) return tl::unexpected(fields.wrong(key, "a list of texts", item));
    all.push_back(item.get<std::string>());
  }
  return all;
}

/// A picture that we drew. The page forbids scripts and requests, so this need not find them.
Result<Figure> read_figure(const std::filesystem::path& folder, const std::string& file) {
  if (file.empty() || file.find_first_of("/\\") != std::string::npos || !file.ends_with(".svg")) {
    return fail(ErrorKind::kCorrupt, (folder / kFile).string() + ": figures: '" + file +
                                         "'; valid: the name of an .svg file of this folder");
  }
  Figure figure{file, {}};
  SOTTO_TRY(figure.svg, read_text(folder / file, kMostText));
  if (!figure.svg.starts_with("<svg") || figure.svg.find("</svg>") == std::string::npos) {
    return fail(ErrorKind::kCorrupt, (folder / file).string() + ": not a picture of ours");
  }
  return figure;
}

std::string section(const FindingsPage& page, bool own_heading) {
  std::string out;
  if (own_heading) {
    out += fmt::format("<h2>{}</h2>\n<p class=\"lead\">{}</p>\n", escape(page.heading),
                       escape(page.below));
  }
  if (!page.warning.empty()) {
    out += fmt::format("<div class=\"banner warn\"><span>{}</span></div>\n", escape(page.warning));
  }
  out +=
      "<section class=\"card\"><h3>Found</h3>\n<div class=\"scroll\"><table class=\"wide\"><thead>"
      "<tr>";
  for (const std::string& name : page.columns) out += "<th>" + escape(name) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : page.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", escape(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div></section>\n<div class=\"charts\">\n";
  for (const Figure& figure : page.figures) {
    out += "<figure class=\"card chart\">\n" + figure.svg + "</figure>\n";
  }
  out += "</div>\n";
  for (const std::string& note : page.notes) {
    out += fmt::format("<p class=\"lead\">{}</p>\n", escape(note));
  }
  return out;
}

}  // namespace

std::vector<Figure> numbered_figures(const std::vector<std::string>& svgs) {
  std::vector<Figure> figures;
  for (const std::string& svg : svgs) {
    const std::size_t number = figures.size() + 1;
    figures.push_back({number == 1 ? "figure.svg" : fmt::format("figure-{}.svg", number), svg});
  }
  return figures;
}

bool holds_findings(const std::filesystem::path& folder) {
  std::error_code code;
  return std::filesystem::exists(folder / kFile, code) &&
         !std::filesystem::exists(folder / "run.json", code);
}

Result<FindingsPage> read_findings(const std::filesystem::path& folder) {
  const std::string place = (folder / kFile).string();
  SOTTO_TRY(const std::string text, read_text(folder / kFile, kMostText));
  SOTTO_TRY(const Json json, parse_json(text, place, 1));
  const Fields fields(json, place);
  SOTTO_TRY(const std::string format, fields.text("format"));
  if (format != "sotto.page.v1") {
    return fail(ErrorKind::kCorrupt,
                place + ": format '" + format + "'; this program reads sotto.page.v1");
  }
  FindingsPage page;
  SOTTO_TRY(page.heading, fields.text("heading"));
  SOTTO_TRY(page.below, fields.text("below"));
  SOTTO_TRY(page.warning, fields.text("warning"));
  SOTTO_TRY(page.columns, texts(fields, "columns"));
  SOTTO_TRY(page.notes, texts(fields, "notes"));
  SOTTO_TRY(const Json* const rows, fields.array("rows"));
  for (const Json& row : *rows) {
    const Json wrapped = {{"rows", row}};
    SOTTO_TRY(std::vector<std::string> cells, texts(Fields(wrapped, place), "rows"));
    if (cells.size() != page.columns.size()) {
      return fail(ErrorKind::kCorrupt,
                  fmt::format("{}: a row has {} cells; valid: {}, one a column", place,
                              cells.size(), page.columns.size()));
    }
    page.rows.push_back(std::move(cells));
  }
  SOTTO_TRY(const std::vector<std::string> files, texts(fields, "figures"));
  for (const std::string& file : files) {
    SOTTO_TRY(Figure figure, read_figure(folder, file));
    page.figures.push_back(std::move(figure));
  }
  return page;
}

Result<void> write_findings_page(const std::filesystem::path& folder, const FindingsPage& page) {
  for (const Figure& figure : page.figures) {
    SOTTO_CHECK(write_file_atomically(folder / figure.file, figure.svg));
  }
  SOTTO_CHECK(write_file_atomically(folder / kFile, dumped(to_json(page))));
  return write_file_atomically(folder / "report.html", render_findings({page}));
}

std::string render_findings(const std::vector<FindingsPage>& pages, const std::string& title) {
  if (pages.size() == 1) {
    const FindingsPage& page = pages.front();
    return report_page(title.empty() ? page.heading : title, page.below, section(page, false));
  }
  std::string body;
  for (const FindingsPage& page : pages) body += section(page, true);
  return report_page(title.empty() ? fmt::format("{} findings", pages.size()) : title, "", body);
}

std::string findings_json(const std::vector<FindingsPage>& pages) {
  Json all = Json::array();
  for (const FindingsPage& page : pages) all.push_back(to_json(page));
  return dumped({{"format", "sotto.findings.v1"}, {"findings", std::move(all)}});
}

}  // namespace sotto
