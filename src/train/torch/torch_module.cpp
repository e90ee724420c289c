// The module's one door.
#include "train/torch/torch_module.h"

#include "sotto/version.h"

extern "C" [[gnu::visibility("default")]] const sotto::TorchModule* sotto_torch_module() {
  static constexpr sotto::TorchModule kModule{
      .version = SOTTO_VERSION,
      .make_factory = sotto::make_torch_factory,
      .make_loop = sotto::make_plain_loop,
      .measure = sotto::measure_on_device,
  };
  return &kModule;
}
