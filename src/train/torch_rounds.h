#pragma once

#include "train/device_rounds.h"
#include "train/torch_net.h"

namespace sotto {

/// Nothing where the network or the options have no form for clients side by side, or the samples
/// don't fit the device's memory: then clients are trained one after the other.
Result<std::shared_ptr<DeviceRounds>> make_torch_rounds(const Network& network,
                                                        const torch::Device& device,
                                                        const DeviceClients& clients);

}  // namespace sotto
