// What an audit, an attack or a measured experiment leaves for people: one table and its pictures.
//
// The folder holds page.json (the table), the pictures as SVG files, and report.html made of both;
// `sotto report` reads them again and lays several such folders on one page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sotto/result.h"

namespace sotto {

struct Figure {
  std::string file;  // "roc.svg", in the folder
  std::string svg;
};

struct FindingsPage {
  std::string heading;
  std::string below;    // one line: when, where, how long
  std::string warning;  // shown above all; empty: none
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`
  std::vector<std::string> notes;              // paragraphs below
  std::vector<Figure> figures;
};

/// figure.svg, figure-2.svg, ...
std::vector<Figure> numbered_figures(const std::vector<std::string>& svgs);

/// Whether `folder` holds such findings (and no run).
bool holds_findings(const std::filesystem::path& folder);
/// Strict: a missing key, a row of another length, a picture that is none are errors.
Result<FindingsPage> read_findings(const std::filesystem::path& folder);
/// The pictures, page.json and report.html, each whole or not at all.
Result<void> write_findings_page(const std::filesystem::path& folder, const FindingsPage& page);

/// `title` empty: the heading of the only page, or how many there are.
std::string render_findings(const std::vector<FindingsPage>& pages, const std::string& title = "");
/// {"format":"sotto.findings.v1","findings":[{"heading":...,"columns":[...],"rows":[...]}]}
std::string findings_json(const std::vector<FindingsPage>& pages);

}  // namespace sotto
