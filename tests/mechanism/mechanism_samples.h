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
      {"srr", {{"epsilon", 5.0}, {"groups", 10}, {"step", 20}}, {0.0, 0.075}, "srr, the paper's"},
      {"srr", {{"epsilon", 1.0}, {"precision", 2}}},
      {"srr",
       {{"epsilon", 3.0}, {"precision", 7}, {"groups", 75}, {"step", -30}, {"debias", 1}},
       {1.15, 0.05},
       "srr of 75 groups at precision 7"},
      {"grr", {{"epsilon", 8.0}, {"precision", 3}}, {0.02, 0.075}},
      {"grr", {{"epsilon", 1.0}, {"precision", 8}}, {0.0, 1.0}, "grr at precision 8"},
  };
}

}  // namespace sotto
