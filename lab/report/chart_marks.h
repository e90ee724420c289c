// Marks and their names. Colour is never the only cue, so every series has a shape of its own; a
// name stands beside its point, where it covers neither another name nor a point.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

inline constexpr double kCharacter = 6.7;  // the mean width of one at 12 pixels

/// A marker around (x, y): circle, square, diamond or triangle, by the number of the series.
std::string marker(std::size_t series, double x, double y, std::string_view css,
                   const std::string& hover);

struct Box {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};

class LabelPlacer {
 public:
  explicit LabelPlacer(Box plot) : plot_(plot) {}
  void occupy(const Box& box) { taken_.push_back(box); }
  /// The text beside (x, y), at the first place that is free; with a line to its point where that
  /// is not the next one.
  std::string put(double x, double y, const std::string& text);

 private:
  Box plot_;
  std::vector<Box> taken_;
};

}  // namespace sotto
