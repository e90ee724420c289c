#pragma once

#include "train/device_rounds.h"
#include "train/torch/torch_net.h"

namespace sotto {

/// Nothing for DP-SGD, which has no form for clients side by side, or where they don't fit the
/// device's memory: then clients are trained one after the other.
Result<std::shared_ptr<DeviceRounds>> make_torch_rounds(const Network& network,
                                                        const torch::Device& device,
                                                        const DeviceClients& clients);

}  // namespace sotto
