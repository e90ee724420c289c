// How fast a device perturbs, for benchmarks.
#pragma once

#include <memory>
#include <span>

#include "sotto/mechanism.h"

namespace sotto {

/// Seconds on the device: for `clients` reports; for their random words alone; for copying as many
/// bytes from device to device as the reports' weights and symbols have.
struct DeviceTimes {
  double perturb = 0.0;
  double words = 0.0;
  double copy = 0.0;
};

/// An error where there is no device, or none was thought of when the program was built.
Result<DeviceTimes> measure_on_device(std::shared_ptr<const Mechanism> mechanism,
                                      std::span<const float> values, unsigned clients);

}  // namespace sotto
