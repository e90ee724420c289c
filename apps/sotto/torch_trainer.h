// The maker of LibTorch's trainers where this build has them; none otherwise.
#pragma once

#include "sotto/trainer.h"

namespace sotto::cli {

inline auto torch_trainer() -> decltype(&make_torch_factory) {
#ifdef SOTTO_WITH_TORCH
  return make_torch_factory;
#else
  return nullptr;
#endif
}

}  // namespace sotto::cli
