// What the arithmetic of training costs at least: multiplications and additions of the
// products that a step makes, and how many of them this core does in a second with everything at
// hand.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "sotto/native.h"
#include "train/native/shapes.h"

namespace sotto {

double training_flops(const Network& network) {
  double total = 0.0;
  double height = network.input.height;
  double width = network.input.width;
  bool first = true;
  for (const Layer& layer : network.layers) {
    double products = 0.0;
    if (layer.kind == LayerKind::kConv) {
      const auto channels = static_cast<std::size_t>(layer.in);
      const native::Shape image{static_cast<std::size_t>(height), static_cast<std::size_t>(width),
                                channels, first ? channels : native::grouped(channels)};
      const auto lost = static_cast<double>(layer.kernel - 1 - 2 * layer.padding);
      height -= lost;
      width -= lost;
      products = height * width * static_cast<double>(layer.in * layer.out) *
                 static_cast<double>(layer.kernel * layer.kernel);
      // By tiles, 16 multiplications make what else takes 36.
      if (native::is_tiled(layer, image)) products *= 16.0 / 36.0;
    } else if (layer.kind == LayerKind::kLinear) {
      products = static_cast<double>(layer.in * layer.out);
    } else if (layer.kind == LayerKind::kMaxPool) {
      height = std::floor(height / static_cast<double>(layer.kernel));
      width = std::floor(width / static_cast<double>(layer.kernel));
    }
    if (products == 0.0) continue;
    // Forward, the weights' gradient and, but for the first layer, the input's.
    total += 2.0 * products * (first ? 2.0 : 3.0);
    first = false;
  }
  return total;
}

double measured_flops() {
  constexpr std::size_t kRows = 14;
  constexpr std::size_t kDepth = 64;
  constexpr std::size_t kColumns = 32;
  constexpr std::size_t kTimes = 2000;
  static constexpr std::size_t kStart = 0;
  const native::Floats a(kRows * kDepth);
  const native::Floats b(kDepth * kColumns);
  const native::Floats out(kRows * kColumns);
  double best = 0.0;
  for (int turn = 0; turn < 9; ++turn) {
    const Stopwatch clock;
    // The same small product over and over, from the nearest cache.
    native::multiply({.k = {&kStart, 1, kDepth},
                      .a = a.data(),
                      .a_row = kDepth,
                      .a_line = 0,
                      .b = b.data(),
                      .b_row = kColumns,
                      .b_group = native::kGroup,
                      .bias = nullptr,
                      .out = out.data(),
                      .out_row = kColumns,
                      .out_line = 0,
                      .lines = kTimes,
                      .rows = kRows,
                      .columns = kColumns,
                      .relu = false});
    const auto done = static_cast<double>(2 * kRows * kDepth * kColumns * kTimes);
    best = std::max(best, done / clock.seconds());
  }
  return best;
}

}  // namespace sotto
