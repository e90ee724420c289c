// How the ten digits of the embedded set are written: strokes on a 20 x 20 grid.
//
// A digit has several ways of being written, each a few strokes, each stroke a smooth curve through
// its points (two points: a straight line). x goes right, y goes down.
#pragma once

#include <array>
#include <vector>

namespace sotto {

struct GridPoint {
  int x;
  int y;
  bool operator==(const GridPoint&) const = default;
};

using Stroke = std::vector<GridPoint>;
using Glyph = std::vector<Stroke>;

inline constexpr int kGlyphGrid = 20;

/// For each digit its glyphs.
const std::array<std::vector<Glyph>, 10>& digit_glyphs();

}  // namespace sotto
