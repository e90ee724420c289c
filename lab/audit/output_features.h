// What is looked at in the outputs of a randomizer of which nothing is known.
//
// A threshold on the value misses most real defects: the raw value let through once in a thousand,
// outputs off the grid, low bits of a float that remember the input. So an output is seen in many
// ways: its values, its distance to both inputs, where it lies between points of decimal and binary
// grids and of the same grids moved to an input, its trailing bits, whether it is finite, and which
// coordinates equal an input's exactly. Each way is a number; events are made of them (events.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sotto {

/// The outputs of some trials, row by row.
struct Outputs {
  std::size_t width = 0;  // values a row; 0 where there are no rows
  std::vector<double> values;

  std::size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> row(std::size_t i) const {
    return std::span(values).subspan(i * width, width);
  }
};

/// The two inputs to distinguish.
struct NumberPair {
  std::vector<double> zero;
  std::vector<double> one;
};

struct Feature {
  std::string name;
  std::function<double(std::span<const double>)> value;
};

/// For outputs of `width` values. The first is the identity: equal for equal outputs, bit by bit,
/// and different for different ones (but for a probability of 2^-53).
std::vector<Feature> features_of(const NumberPair& inputs, std::size_t width);

/// "0.25" or "(0.25, 1, ...)", with all digits of a single number.
std::string output_text(std::span<const double> output);

}  // namespace sotto
