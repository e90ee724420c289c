#include "sotto/image_view.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace sotto {
namespace {

constexpr int kMostPixels = 1024;
constexpr double kMostDegrees = 180.0;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What stands between "name(" and ")".
std::optional<std::string_view> argument(std::string_view step, std::string_view name) {
  if (!step.starts_with(name) || !step.ends_with(')')) return std::nullopt;
  step.remove_prefix(name.size());
  if (!step.starts_with('(')) return std::nullopt;
  return step.substr(1, step.size() - 2);
}

/// Adds one step; false where it is none, or there twice.
bool add_step(std::string_view step, ImageView& view) {
  if (step == "flip") {
    if (view.flip) return false;
    view.flip = true;
    return true;
  }
  if (const auto pixels = argument(step, "shift")) {
    const std::size_t comma = pixels->find(',');
    if (comma == std::string_view::npos || view.right != 0 || view.down != 0) return false;
    const auto right = number<int>(pixels->substr(0, comma));
    const auto down = number<int>(pixels->substr(comma + 1));
    const auto fits = [](std::optional<int> by) {
      return by && *by >= -kMostPixels && *by <= kMostPixels;
    };
    if (!fits(right) || !fits(down) || (*right == 0 && *down == 0)) return false;
    view.right = *right;
    view.down = *down;
    return true;
  }
  const auto turned = argument(step, "rotate");
  const auto degrees = turned ? number<double>(*turned) : std::nullopt;
  if (!degrees || view.degrees != 0.0 || *degrees == 0.0) return false;
  if (!(std::abs(*degrees) <= kMostDegrees)) return false;
  view.degrees = *degrees;
  return true;
}

}  // namespace

Result<ImageView> parse_view(std::string_view text) {
  ImageView view;
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    if (!add_step(rest.substr(0, plus), view)) {
      return fail(ErrorKind::kUsage,
                  "\"" + std::string(text) +
                      "\" is no view of an image; valid: shift(DX,DY) in pixels to the right and "
                      "down, rotate(DEGREES), flip, each once and not by 0, joined by +");
    }
    if (plus == std::string_view::npos) return view;
    rest.remove_prefix(plus + 1);
  }
}

std::string view_text(const ImageView& view) {
  std::string text;
  const auto add = [&text](const std::string& step) { text += (text.empty() ? "" : "+") + step; };
  if (view.flip) add("flip");
  if (view.right != 0 || view.down != 0) {
    add("shift(" + std::to_string(view.right) + ',' + std::to_string(view.down) + ')');
  }
  if (view.degrees != 0.0) {
    char digits[32];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), view.degrees).ptr;
    add("rotate(" + std::string(std::begin(digits), end) + ')');
  }
  return text;
}

}  // namespace sotto
