// A value mechanism, or privunit, on a CUDA device: bound, perturb and add without a report leaving
// the device.
//
// The symbols are those that Mechanism::perturb draws from the same bits, to the last one; so all
// that is proven of the mechanism holds here. What goes out of this class is drawn symbols or their
// sums, never a weight.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random/streams.h"
#include "mechanism/cuda/device_times.h"
#include "sotto/mechanism.h"
#include "sotto/stages.h"

namespace sotto {

class DeviceMechanism {
 public:
  /// An error for a mechanism that has no kernel: bits, and vector mechanisms other than privunit.
  /// `threads` of the processor do what is left to it.
  static Result<std::unique_ptr<DeviceMechanism>> make(std::shared_ptr<const Mechanism> mechanism,
                                                       unsigned threads = 1);
  static bool takes(const Mechanism& mechanism);
  ~DeviceMechanism();

  /// Where a tensor of the mechanism's layout lies on the device: a row for each client, and the
  /// one row that they are to be differences to, if any.
  struct Place {
    const float* payload = nullptr;
    const float* model = nullptr;
  };

  /// Whether payloads are first brought to the norm of the mechanism's ball, as fill_ball() does
  /// it.
  struct Filling {
    bool fills = false;
    double floor = 0.0;
  };

  /// Bounds and perturbs the rows of so many clients as there are keys, and adds their symbols up.
  Result<void> add(std::span<const Place> tensors, std::span<const StreamKey> keys,
                   const Filling& filling = {false, 0.0});
  /// All that was added since the last call.
  Result<SummedEnvelope> take_sum(RoundId round);

  /// Bounds and perturbs as add() does, and gives each client's report, for a ledger that binds a
  /// charge to it.
  Result<std::vector<Report>> reports(std::span<const Place> tensors,
                                      std::span<const StreamKey> keys,
                                      const Filling& filling = {false, 0.0});

  /// How many reports of a vector mechanism the processor has computed again, because doubles left
  /// a coordinate undecided.
  std::uint64_t redrawn() const;

  /// The symbols of one report of `values`, which lie in the memory of the host.
  Result<std::vector<Symbol>> draw(std::span<const float> values, const StreamKey& key);

  /// Of `clients` reports of the same values, the fastest of several turns.
  Result<DeviceTimes> measure(std::span<const float> values, unsigned clients, int turns);

 private:
  struct State;
  Result<DeviceTimes> measure_vector(std::span<const float> values, unsigned clients, int turns);
  explicit DeviceMechanism(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sotto
