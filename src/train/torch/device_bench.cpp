#include "train/torch/device_bench.h"

#ifdef SOTTO_WITH_CUDA
#include "base/parallel.h"
#include "mechanism/cuda/device_mechanism.h"
#endif

namespace sotto {

Result<DeviceTimes> measure_on_device(std::shared_ptr<const Mechanism> mechanism,
                                      std::span<const float> values, unsigned clients) {
#ifdef SOTTO_WITH_CUDA
  constexpr int kTurns = 20;
  SOTTO_TRY(const auto device, DeviceMechanism::make(std::move(mechanism), thread_count(0)));
  return device->measure(values, clients, kTurns);
#else
  (void)mechanism, (void)values, (void)clients;
  return fail(ErrorKind::kUsage,
              "this program was built without kernels for CUDA devices (SOTTO_CUDA=ON)");
#endif
}

}  // namespace sotto
