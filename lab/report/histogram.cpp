// The histogram: shares of each part as a stepped outline over a pale area, so that what parts
// have in common shows through. The outline's dashes tell parts apart without colour.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "report/chart.h"
#include "report/chart_marks.h"
#include "report/markup.h"
#include "report/scale.h"
#include "report/svg.h"

namespace sotto {
namespace {

constexpr double kWidth = 420.0;
constexpr double kHeight = 190.0;  // of the plot
constexpr double kLeft = 62.0;
constexpr double kRight = kWidth - 18.0;
constexpr std::array kDashes = {"", " stroke-dasharray=\"5 3\"", " stroke-dasharray=\"2 3\""};

std::vector<double> shares_of(const Histogram::Part& part) {
  const double sum = std::accumulate(part.counts.begin(), part.counts.end(), 0.0);
  std::vector<double> shares = part.counts;
  for (double& share : shares) share = sum > 0.0 ? share / sum : 0.0;
  return shares;
}

/// The outline from the lower left corner to the lower right one.
std::string steps(const std::vector<double>& shares, const Axis& axis, double top) {
  const double bottom = top + kHeight;
  const double each = (kRight - kLeft) / static_cast<double>(shares.size());
  std::string data = fmt::format("M{} {}", coordinate(kLeft), coordinate(bottom));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    data += fmt::format("V{}H{}", coordinate(axis.place(shares[i], bottom, top)),
                        coordinate(kLeft + each * static_cast<double>(i + 1)));
  }
  return data + "V" + coordinate(bottom);
}

}  // namespace

std::string to_svg(const Histogram& histogram) {
  double most = 0.0;
  std::vector<std::vector<double>> shares;
  for (const Histogram::Part& part : histogram.parts) {
    shares.push_back(shares_of(part));
    for (const double share : shares.back()) most = std::max(most, share);
  }
  double y = 28.0;
  std::string body = svg_text(16.0, y, "class=\"title\"", shorten(histogram.title, 46));
  if (!(most > 0.0)) {
    body += svg_text(16.0, y + 40.0, "", "no values yet");
    return svg_frame(kWidth, 100.0, histogram.title, body);
  }
  double x = kLeft;
  y += 24.0;
  for (std::size_t i = 0; i < histogram.parts.size(); ++i) {
    const std::string name = shorten(histogram.parts[i].name, 30);
    body += fmt::format("<g class=\"s{}\"><path class=\"path\"{} d=\"M{} {}h22\"/></g>",
                        i % kPalette.size(), kDashes[i % kDashes.size()], coordinate(x),
                        coordinate(y - 4.0));
    body += svg_text(x + 29.0, y, "class=\"name\"", name);
    x += 29.0 + 20.0 + kCharacter * static_cast<double>(characters(name));
  }
  const double top = y + 16.0;
  const double bottom = top + kHeight;
  const Axis up = fitted_axis(0.0, most, 4, true);
  const Axis along = exact_axis(histogram.low, histogram.high, 5, false);
  for (const double tick : up.ticks) {
    const double at = up.place(tick, bottom, top);
    body += fmt::format("<path class=\"grid\" d=\"M{} {}H{}\"/>", coordinate(kLeft), coordinate(at),
                        coordinate(kRight));
    body += svg_text(kLeft - 9.0, at + 4.0, "text-anchor=\"end\"", up.label(tick, true));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].empty()) continue;
    const std::string data = steps(shares[i], up, top);
    body += fmt::format(
        "<g class=\"s{}\"><path class=\"fill\" style=\"fill-opacity:.18\" "
        "d=\"{}Z\"/><path class=\"path\"{} d=\"{}\"/></g>\n",
        i % kPalette.size(), data, kDashes[i % kDashes.size()], data);
  }
  body += fmt::format("<path class=\"axis\" d=\"M{} {}H{}\"/>", coordinate(kLeft),
                      coordinate(bottom), coordinate(kRight));
  for (const double tick : along.ticks) {
    const double at = along.place(tick, kLeft, kRight);
    body +=
        fmt::format("<path class=\"axis\" d=\"M{} {}v5\"/>", coordinate(at), coordinate(bottom));
    body += svg_text(at, bottom + 20.0, "text-anchor=\"middle\"", along.label(tick, false));
  }
  body +=
      svg_text((kLeft + kRight) / 2.0, bottom + 42.0, "text-anchor=\"middle\"", histogram.x_label);
  return svg_frame(kWidth, bottom + 56.0, histogram.title, body);
}

}  // namespace sotto
