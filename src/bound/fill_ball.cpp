#include "bound/fill_ball.h"

#include <array>
#include <cmath>
#include <numeric>

namespace sotto {

void fill_ball(std::span<float> values, double norm, double floor) {
  // Partial sums side by side, which the compiler puts into vector registers. Plain doubles do: the
  // sum of n squares is off by less than n 2^-53 of itself.
  constexpr std::size_t kLanes = 16;
  std::array<double, kLanes> sums{};
  std::size_t first = 0;
  const auto square_of = [&values](std::size_t i) {
    values[i] = values[i] - values[i] == 0.0F ? values[i] : 0.0F;
    return static_cast<double>(values[i]) * static_cast<double>(values[i]);
  };
  for (; first + kLanes <= values.size(); first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += square_of(first + lane);
  }
  for (std::size_t lane = 0; first < values.size(); ++first, ++lane) sums[lane] += square_of(first);
  const double square = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (square < floor * floor) return;
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
