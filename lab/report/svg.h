// The frame of a picture: size, title, colours for light and dark.
//
// Rules in a <style> hold for the whole page, so each picture has a class of its own, made from its
// content: charts with different styles do not clash and the same data give the same bytes. There
// are no ids, which a page with two equal charts would hold twice.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace sotto {

/// Colours of Okabe and Ito (2008), told apart by the colour-blind, each in a version for light
/// and one for dark paper.
struct SeriesColour {
  std::string_view light;
  std::string_view dark;
};
inline constexpr std::array<SeriesColour, 8> kPalette = {{
    {"#0072b2", "#4aa8e0"},
    {"#d55e00", "#ff8a3d"},
    {"#008a63", "#2fc79a"},
    {"#b8558f", "#e295c1"},
    {"#a87400", "#f0b429"},
    {"#5b4fc4", "#a89ff5"},
    {"#52606d", "#b6c2cf"},
    {"#9b2c2c", "#f08a8a"},
}};

/// A text element. `attributes` are markup, `content` is not.
std::string svg_text(double x, double y, std::string_view attributes, std::string_view content);

/// The whole element around `body` (markup), with `title` for screen readers.
std::string svg_frame(double width, double height, std::string_view title, const std::string& body);

}  // namespace sotto
