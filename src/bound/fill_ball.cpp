#include "bound/fill_ball.h"

#include <cmath>

#include "base/sums.h"

namespace sotto {

void fill_ball(std::span<float> values, double norm) {
  for (float& value : values) value = value - value == 0.0F ? value : 0.0F;
  const std::size_t whole = values.size() / kSumLanes * kSumLanes;
  WideSum sum = dot(values.data(), values.data(), whole);
  for (const float value : values.subspan(whole)) {
    sum.add(static_cast<double>(value) * static_cast<double>(value));
  }
  const double square = sum.value();
  if (square == 0.0) {
    if (!values.empty()) values[0] = static_cast<float>(norm * (1.0 - 0x1p-20));
    return;
  }
  // Rounding to float, of the factor and of the products, is 2^-23 together.
  const double factor = norm / std::sqrt(square) * (1.0 - 0x1p-20);
  if (factor >= 0x1p-100 && factor <= 0x1p100) {
    const auto narrow = static_cast<float>(factor);
    for (float& value : values) value *= narrow;
  } else {
    for (float& value : values) value = static_cast<float>(value * factor);
  }
}

}  // namespace sotto
