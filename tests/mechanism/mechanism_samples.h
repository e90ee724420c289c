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
    return make_mechanism(mechanism, Domain{flat_layout(size), {range}}, parameters);
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

inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.label; }

inline std::vector<Sample> samples() {
  return {
      {"two-point", {{"epsilon", 1.0}}},
      {"none", {}},
      {"two-point", {{"epsilon", 12.0}}, {0.02, 0.075}, "two-point at 12"},
      {"rappor", {{"epsilon", 1.0}}},
      {"rappor", {{"epsilon", 8.0}}, {0.0, 1.0}, "rappor at 8"},
      {"oue", {{"epsilon", 1.0}}},
      {"oue", {{"epsilon", 8.0}}, {0.0, 1.0}, "oue at 8"},
      {"rr-bits", {{"epsilon", 2.0}}, {0.5, 0.5}, "rr-bits on bits"},
      {"rr-bits", {{"epsilon", 50.0}, {"whole", 4}, {"fraction", 5}}, {0.0, 16.0}},
      {"ldpfl-1", {{"epsilon", 0.5}, {"whole", 4}, {"fraction", 5}}, {0.0, 16.0}},
      {"ldpfl-1", {{"epsilon", 2.0}, {"coefficient", 0.5}}, {0.5, 0.5}, "ldpfl-1 on bits"},
      {"ldpfl-2", {{"epsilon", 0.5}, {"whole", 4}, {"fraction", 5}}, {0.0, 16.0}},
      {"ldpfl-2", {{"epsilon", 2.0}, {"coefficient", 4}}, {0.5, 0.5}, "ldpfl-2 on bits"},
      {"ldpfl-exact", {{"epsilon", 8.0}, {"whole", 1}, {"fraction", 1}}, {0.0, 2.0}},
      {"ldpfl-exact",
       {{"epsilon", 8.0}, {"whole", 0}, {"fraction", 2}, {"classes", 10}},
       {4.5, 4.5},
       "ldpfl-exact with a label"},
      {"ldp-sgd", {{"epsilon", 1.0}}},
      {"ldp-sgd", {{"epsilon", 12.0}, {"norm", 0.25}}, {0.0, 0.001}, "ldp-sgd at 12"},
      {"privunit", {{"epsilon", 1.0}}},
      {"privunit", {{"epsilon", 8.0}, {"norm", 0.25}}, {0.0, 0.001}, "privunit at 8"},
      {"gaussian", {{"epsilon", 1.0}, {"delta", 1e-6}}},
      {"gaussian", {{"epsilon", 5.0}, {"delta", 1e-5}, {"norm", 8.0}}, {0.0, 0.1}, "gaussian at 5"},
      {"piecewise", {{"epsilon", 5.0}}},
      {"piecewise", {{"epsilon", 12.0}, {"precision", 6.0}}, {0.02, 0.075}, "piecewise at 12"},
      {"hybrid", {{"epsilon", 1.0}}},
      {"hybrid", {{"epsilon", 0.5}, {"precision", 2.0}}, {0.02, 0.075}, "hybrid at 0.5"},
      {"hybrid", {{"epsilon", 12.0}}, {-3.0, 0.3}, "hybrid at 12"},
      {"optimal", {{"epsilon", 5.0}}},
      {"optimal", {{"epsilon", 0.05}}, {0.02, 0.075}, "optimal at 0.05"},
      {"optimal", {{"epsilon", 1.0}, {"precision", 7.0}}, {0.02, 0.075}, "optimal at 1"},
      {"optimal", {{"epsilon", 20.0}}, {0.0, 0.075}, "optimal at 20"},
      {"srr", {{"epsilon", 5.0}, {"groups", 10}, {"step", 20}}, {0.0, 0.075}, "srr, the paper's"},
      {"srr", {{"epsilon", 1.0}, {"precision", 2}}},
      {"srr",
       {{"epsilon", 3.0}, {"precision", 7}, {"groups", 75}, {"step", -30}, {"debias", 1}},
       {1.15, 0.05},
       "srr of 75 groups at precision 7"},
      {"grr", {{"epsilon", 8.0}, {"precision", 3}}, {0.02, 0.075}},
      {"grr", {{"epsilon", 1.0}, {"precision", 8}}, {0.0, 1.0}, "grr at precision 8"},
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
