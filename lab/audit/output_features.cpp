#include "audit/output_features.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace sotto {
namespace {

/// Coordinates of a vector that are looked at one by one.
constexpr std::size_t kMostCoordinates = 8;
constexpr double kGrids[] = {1.0,  0.1,    1e-2,   1e-3,    1e-4,    1e-5,
                             1e-6, 0x1p-4, 0x1p-8, 0x1p-16, 0x1p-24, 0x1p-32};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

double identity(std::span<const double> output) {
  std::uint64_t hash = output.size();
  for (const double value : output) {
    // Not-a-number has many patterns and one meaning.
    const auto bits = std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value);
    hash = mixed(hash * 0x9e3779b97f4a7c15U + bits);
  }
  return static_cast<double>(hash >> 11);
}

/// Zeros at the end of the significand: 52 for a power of two.
double trailing_zeros(double value) {
  constexpr std::uint64_t kSignificand = (std::uint64_t{1} << 52) - 1;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) & kSignificand;
  return bits == 0 ? 52.0 : static_cast<double>(std::countr_zero(bits));
}

/// How far `value` is from the nearest multiple of `grid`, in steps: 0 to 1/2.
double off_grid(double value, double grid) {
  const double steps = value / grid;
  return std::abs(steps - std::nearbyint(steps));
}
/// Where `value` lies between two multiples: 0 to 1, with what is a hair below one counted as on
/// it.
double between_grid(double value, double grid) {
  const double steps = value / grid + 1e-7;
  return steps - std::floor(steps);
}

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

using Row = std::span<const double>;

class Features {
 public:
  Features(const NumberPair& inputs, std::size_t width) : inputs_(inputs), width_(width) {}

  std::vector<Feature> all() {
    add("the output", identity);
    add("finite", [](Row y) {
      return std::all_of(y.begin(), y.end(), [](double v) { return std::isfinite(v); }) ? 1.0 : 0.0;
    });
    if (width_ == 1) {
      add("the value", [](Row y) { return y[0]; });
      add("the magnitude", [](Row y) { return std::abs(y[0]); });
    } else {
      vectors();
    }
    if (inputs_.zero.size() == width_) against_inputs();
    grids();
    return std::move(features_);
  }

 private:
  void add(std::string name, std::function<double(Row)> value) {
    features_.push_back({std::move(name), std::move(value)});
  }

  void vectors() {
    for (std::size_t i = 0; i < std::min(width_, kMostCoordinates); ++i) {
      add("coordinate " + std::to_string(i), [i](Row y) { return y[i]; });
    }
    add("the norm", [](Row y) {
      double sum = 0.0;
      for (const double v : y) sum += v * v;
      return std::sqrt(sum);
    });
  }

  void against_inputs() {
    for (const bool one : {false, true}) {
      const std::vector<double> x = one ? inputs_.one : inputs_.zero;
      const std::string which = one ? "the second input" : "the first input";
      add("the distance to " + which, [x](Row y) {
        double sum = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += (y[i] - x[i]) * (y[i] - x[i]);
        return std::sqrt(sum);
      });
      // Only coordinates in which the inputs differ tell anything.
      std::vector<std::size_t> differing;
      for (std::size_t i = 0; i < width_; ++i) {
        if (inputs_.zero[i] != inputs_.one[i]) differing.push_back(i);
      }
      add("the number of values equal to " + which, [x, differing](Row y) {
        return static_cast<double>(std::count_if(differing.begin(), differing.end(),
                                                 [&](std::size_t i) { return y[i] == x[i]; }));
      });
    }
    if (width_ == 1) return;
    std::vector<double> direction(width_);
    for (std::size_t i = 0; i < width_; ++i) direction[i] = inputs_.one[i] - inputs_.zero[i];
    add("the projection on the difference of the inputs", [direction](Row y) {
      double sum = 0.0;
      for (std::size_t i = 0; i < direction.size(); ++i) sum += direction[i] * y[i];
      return sum;
    });
  }

  /// Of one coordinate: the one in which the inputs differ most.
  void grids() {
    std::size_t at = 0;
    const bool known = inputs_.zero.size() == width_;
    for (std::size_t i = 0; known && i < width_; ++i) {
      const auto gap = [&](std::size_t k) { return std::abs(inputs_.one[k] - inputs_.zero[k]); };
      if (gap(i) > gap(at)) at = i;
    }
    const std::string of = width_ == 1 ? "the value" : "coordinate " + std::to_string(at);
    lowest_bits("", of, at, 0.0);
    for (const double grid : kGrids) {
      add(of + " modulo " + number_text(grid),
          [at, grid](Row y) { return between_grid(y[at], grid); });
    }
    if (!known) return;
    for (const bool one : {false, true}) {
      const double x = (one ? inputs_.one : inputs_.zero)[at];
      const std::string minus = one ? " minus the second input" : " minus the first input";
      lowest_bits(minus, of, at, x);
      for (const double grid : kGrids) {
        add("how far off the grid of " + number_text(grid) + " is " + of + minus,
            [at, grid, x](Row y) { return off_grid(y[at] - x, grid); });
      }
    }
  }

  void lowest_bits(const std::string& minus, const std::string& of, std::size_t at, double x) {
    add("the zeros at the end of " + of + minus,
        [at, x](Row y) { return trailing_zeros(y[at] - x); });
    for (const unsigned shift : {0U, 29U}) {  // of a double, and of a float in one
      add((shift == 0 ? "the last bits of " : "the last float bits of ") + of + minus,
          [at, x, shift](Row y) {
            return static_cast<double>(std::bit_cast<std::uint64_t>(y[at] - x) >> shift & 31);
          });
    }
  }

  const NumberPair& inputs_;
  std::size_t width_;
  std::vector<Feature> features_;
};

}  // namespace

std::vector<Feature> features_of(const NumberPair& inputs, std::size_t width) {
  return Features(inputs, width).all();
}

std::string output_text(std::span<const double> output) {
  if (output.size() == 1) return number_text(output[0]);
  std::string text = "(";
  for (std::size_t i = 0; i < output.size() && i < 4; ++i) {
    text += (i == 0 ? "" : ", ") + number_text(output[i]);
  }
  return text + (output.size() > 4 ? ", ...)" : ")");
}

}  // namespace sotto
