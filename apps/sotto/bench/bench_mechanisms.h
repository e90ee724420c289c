// Measures mechanisms on one core: bound() and perturb() of a whole vector, beside the floor, which
// is drawing the random bytes that the mechanism needs and copying the weights.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mechanism_options.h"

namespace sotto::cli {

/// A mechanism with the parameters that it is measured with.
struct MechanismBench {
  std::string mechanism;
  Parameters parameters;
  Range range;
  std::optional<double> bar_ns;     // what it must stay below
  std::optional<double> bar_ratio;  // to the floor

  /// "srr groups=10 step=20": what tells it from others of the same mechanism.
  std::string label;
};

struct MechanismBenchResult {
  MechanismBench what;
  std::size_t weights = 0;
  double ns_per_weight = 0.0;
  double floor_ns = 0.0;
  double random_bytes_per_weight = 0.0;
  double ratio() const { return ns_per_weight / floor_ns; }
  /// Nothing where there is no bar.
  std::optional<bool> met() const;
};

/// Every registered mechanism, most with one setting.
std::vector<MechanismBench> mechanism_benches();

/// The sizes of the published networks: 20,490, 2,169,770 and 5,611,878.
std::vector<std::size_t> bench_sizes();

/// On a CUDA device: nanoseconds a weight, beside drawing the words alone and copying the bytes.
struct DeviceBenchResult {
  MechanismBench what;
  std::size_t weights = 0;
  unsigned clients = 0;
  double ns_per_weight = 0.0;
  double words_ns = 0.0;
  double copy_ns = 0.0;
};
/// As many reports at once as make a hundred million weights.
Result<DeviceBenchResult> bench_on_device(const MechanismBench& bench, std::size_t weights);

/// Mechanism and floor in turns for about `seconds`; the fastest turn of each counts, since other
/// work on the machine can only slow a turn down.
Result<MechanismBenchResult> bench_mechanism(const MechanismBench& bench, std::size_t weights,
                                             double seconds);

}  // namespace sotto::cli
