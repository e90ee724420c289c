// Views: fixed ways to look at an image, moved, mirrored or turned. A client's gradient may be the
// mean over views of its own samples, which costs no privacy: every view is a function of one
// sample, known before any data is seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sotto/result.h"

namespace sotto {

/// The image is mirrored first, then moved, then turned about its centre. Outside of it is black.
struct ImageView {
  int right = 0;         // pixels that it is moved
  int down = 0;          // pixels
  bool flip = false;     // left-right
  double degrees = 0.0;  // clockwise

  bool operator==(const ImageView&) const = default;
};

/// As recipes have it: "shift(1,-1)", "rotate(8)", "flip", or several of them joined by "+".
Result<ImageView> parse_view(std::string_view text);
/// In one spelling, which parse_view reads back.
std::string view_text(const ImageView& view);

/// More than one list has of them, beside the sample itself.
inline constexpr std::size_t kMostViews = 31;

}  // namespace sotto
