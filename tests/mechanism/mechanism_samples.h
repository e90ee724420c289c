// One or more instances of every registered mechanism, for the tests that treat all alike. A test
// fails when a registered mechanism has none (conformance_test.cpp).
#pragma once

#include "mechanism_fixture.h"

namespace sotto {

struct Sample {
  std::string mechanism;
  Parameters parameters;
  Range range{0.0, 1.0};
  std::string label = mechanism;

  Result<std::unique_ptr<Mechanism>> make(std::size_t size) const {
    return make_mechanism(mechanism, Domain{layout_of(size), {range}}, parameters);
  }
  /// Values from beyond one end of the range to beyond the other, with NaN and infinities among
  /// them.
  std::vector<float> inputs(std::size_t size) const {
    BitSource bits = BitSource::from_seed(99, "inputs");
    std::vector<float> values(size);
    for (float& value : values) {
      value = static_cast<float>(range.centre + range.radius * (2.4 * bits.unit() - 1.2));
    }
    if (size > 3) values[size / 2] = std::numeric_limits<float>::quiet_NaN();
    if (size > 3) values[size / 3] = std::numeric_limits<float>::infinity();
    return values;
  }
};

inline std::vector<Sample> samples() {
  return {
      {"two-point", {{"epsilon", 1.0}}},
      {"two-point", {{"epsilon", 12.0}}, {0.02, 0.075}, "two-point at 12"},
      {"em", {{"epsilon", 2.0}, {"precision", 1.0}}, {0.02, 0.75}},
      {"em", {{"alpha", 4.305e-7}, {"precision", 10.0}}, {0.0, 1.0}, "em with 10 decimals"},
      // A fifth of its weights leave the fast way.
      {"em", {{"epsilon", 0.1}, {"precision", 12.0}}, {0.0, 1.0}, "em with 12 decimals"},
      {"laplace", {{"epsilon", 1.0}, {"precision", 1.0}}, {0.02, 0.75}},
      {"laplace", {{"epsilon", 5.0}}, {0.02, 0.075}, "laplace at 5"},
      {"laplace", {{"epsilon", 0.5}, {"precision", 10.0}}, {0.0, 1.0}, "laplace with 10 decimals"},
  };
}

}  // namespace sotto
