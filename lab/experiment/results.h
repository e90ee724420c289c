// What a study found, for other programs and for people: JSON, CSV, the figures, one page with all
// curves on top of each other, and rows for a table in Markdown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiment/summary.h"
#include "report/chart.h"

namespace sotto {

/// "97.9 %", "10-20 %"; "-" where there is none.
std::string paper_text(const std::optional<PaperFigure>& paper);
/// "infinite", "614,700 (vacuous)", "0.885, delta 1e-06"; "-" where nothing is claimed.
std::string epsilon_words(const std::optional<Claim>& claim);

/// Of one record: "infinite (features alone 34,886)" where its label has no protection.
std::string record_words(const Finding& finding);

/// A field of a CSV line: quoted where it must be.
std::string csv_field(const std::string& text);

/// {"format":"sotto.study.v1","name","quick","machine","date","configurations":[...]}
nlohmann::ordered_json results_json(const Summary& summary);
/// One line for each configuration.
std::string results_csv(const Summary& summary);

/// Accuracy over rounds, the mean over seeds, one curve for each configuration.
LineChart rounds_chart(const Summary& summary);
/// For each key that has two values or more: accuracy over it, curves by everything else.
std::vector<LineChart> varied_charts(const Summary& summary);
/// Measured beside what the paper reports.
BarChart bars_chart(const Summary& summary);
/// Accuracy over the exact epsilon of a client: curves of this study, and points of others by name.
struct NamedPoint {
  std::string name;
  double epsilon = 0.0;
  double accuracy = 0.0;
};
LineChart privacy_chart(const Summary& summary, const std::vector<NamedPoint>& others);

/// Mean curves, the varied key, the table of configurations with their claims, and what failed.
std::string overlaid_page(const Summary& summary, const std::vector<std::string>& figures);

}  // namespace sotto
