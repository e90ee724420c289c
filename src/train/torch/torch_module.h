// What the program finds in libsotto_torch.so, the module that holds everything linked with
// LibTorch.
#pragma once

#include <filesystem>

#include "sotto/trainer.h"
#include "train/torch/device_bench.h"
#include "train/torch/plain_loop.h"

namespace sotto {

/// Filled by the module. Program and module are built together: `version` tells when they were not.
struct TorchModule {
  const char* version = nullptr;
  decltype(&make_torch_factory) make_factory = nullptr;
  decltype(&make_plain_loop) make_loop = nullptr;
  decltype(&measure_on_device) measure = nullptr;
};

inline constexpr const char* kTorchModuleEntry = "sotto_torch_module";

/// Where the module is, without loading it.
Result<std::filesystem::path> find_torch_module();

}  // namespace sotto
