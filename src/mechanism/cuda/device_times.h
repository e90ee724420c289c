// What is measured of a device; known without CUDA, so that any program can ask.
#pragma once

namespace sotto {

/// Seconds on the device: for a number of reports; for their random words alone; for copying as
/// many bytes from device to device as the reports' weights and symbols have.
struct DeviceTimes {
  double perturb = 0.0;
  double words = 0.0;
  double copy = 0.0;
};

}  // namespace sotto
