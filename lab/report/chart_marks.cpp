#include "report/chart_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/markup.h"
#include "report/svg.h"

namespace sotto {
namespace {

constexpr double kAscent = 10.0;
constexpr double kDescent = 4.0;

/// The area that two boxes share.
double overlap(const Box& a, const Box& b) {
  const double wide = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double high = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return wide > 0.0 && high > 0.0 ? wide * high : 0.0;
}

double outside(const Box& box, const Box& plot) {
  return std::max(0.0, plot.left - box.left) + std::max(0.0, box.right - plot.right) +
         std::max(0.0, plot.top - box.top) + std::max(0.0, box.bottom - plot.bottom);
}

/// Where a text may stand, from its point: sideways (-1 left of it, 1 right, 0 centred) and down.
struct Place {
  int side;
  double across;
  double down;
};
constexpr Place kPlaces[] = {
    {1, 10, 4},   {-1, -10, 4}, {0, 0, -11},  {0, 0, 20},  {1, 8, -9},     {1, 8, 17},
    {-1, -8, -9}, {-1, -8, 17}, {1, 18, -24}, {1, 18, 32}, {-1, -18, -24}, {-1, -18, 32},
    {0, 0, -32},  {0, 0, 40},   {1, 26, -44}, {1, 26, 52}, {-1, -26, -44}, {-1, -26, 52},
    {0, 0, -60},  {0, 0, 68},   {1, 30, -72}, {1, 30, 80}, {-1, -30, -72}, {-1, -30, 80},
};

}  // namespace

std::string marker(std::size_t series, double x, double y, std::string_view css,
                   const std::string& hover) {
  const std::string title = hover.empty() ? std::string() : "<title>" + escape(hover) + "</title>";
  std::string shape;
  if (series % 4 == 0) {
    return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4.2\">{}</circle>\n", css,
                       coordinate(x), coordinate(y), title);
  }
  if (series % 4 == 1) shape = "m-3.8 -3.8h7.6v7.6h-7.6z";
  if (series % 4 == 2) shape = "m0 -5.2l5.2 5.2l-5.2 5.2l-5.2 -5.2z";
  if (series % 4 == 3) shape = "m0 -5l4.9 8.6h-9.8z";
  return fmt::format("<path class=\"{}\" d=\"M{} {}{}\">{}</path>\n", css, coordinate(x),
                     coordinate(y), shape, title);
}

std::string LabelPlacer::put(double x, double y, const std::string& text) {
  const double width = kCharacter * static_cast<double>(characters(text));
  double least = std::numeric_limits<double>::infinity();
  const Place* best = &kPlaces[0];
  Box best_box;
  for (const Place& place : kPlaces) {
    const double at = x + place.across;
    const double left = place.side > 0 ? at : place.side < 0 ? at - width : at - width / 2.0;
    const double base = y + place.down;
    const Box box{left - 2.0, base - kAscent - 1.0, left + width + 2.0, base + kDescent};
    double cost = 1000.0 * outside(box, plot_);
    for (const Box& other : taken_) cost += overlap(box, other);
    if (cost >= least) continue;
    least = cost;
    best = &place;
    best_box = box;
  }
  occupy(best_box);
  std::string out;
  if (best - std::begin(kPlaces) >= 8) {
    const double end = best->down < 0.0 ? y + best->down + kDescent : y + best->down - kAscent;
    out += fmt::format("<path class=\"leader\" d=\"M{} {}L{} {}\"/>", coordinate(x), coordinate(y),
                       coordinate(x + best->across), coordinate(end));
  }
  const char* const anchor = best->side > 0 ? "start" : best->side < 0 ? "end" : "middle";
  return out + svg_text(x + best->across, y + best->down,
                        fmt::format("class=\"label\" text-anchor=\"{}\"", anchor), text);
}

}  // namespace sotto
