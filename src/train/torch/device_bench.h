// How fast a device perturbs, for benchmarks.
#pragma once

#include <memory>
#include <span>

#include "mechanism/cuda/device_times.h"
#include "sotto/mechanism.h"

namespace sotto {

/// An error where there is no device, or none was thought of when the program was built.
Result<DeviceTimes> measure_on_device(std::shared_ptr<const Mechanism> mechanism,
                                      std::span<const float> values, unsigned clients);

}  // namespace sotto
