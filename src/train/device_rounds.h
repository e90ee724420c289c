// Rounds of a simulation that stay on an accelerator: clients are trained side by side, their
// payloads bounded, perturbed and added there, and only the sums of symbols come back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sotto/bits.h"
#include "sotto/mechanism.h"
#include "sotto/trainer.h"

namespace sotto {

/// What is the same for all clients and rounds.
struct DeviceClients {
  const Dataset* data = nullptr;
  Preprocess preprocess;
  TrainOptions options;
  bool keep_buffers = false;
  bool keep_optimizer = false;
};

class DeviceRounds {
 public:
  virtual ~DeviceRounds() = default;

  struct Client {
    std::span<const std::uint32_t> samples;
    BitSource train;    // decides the order of samples
    BitSource perturb;  // decides the symbols
    /// What it kept of its last round and, after run(), what it keeps of this one: as
    /// LocalTransport has it.
    std::vector<float> state;
  };
  struct Part {
    std::shared_ptr<const Mechanism> mechanism;
    std::span<const std::size_t> tensors;
  };

  /// How many clients are trained at once.
  virtual std::size_t most_clients() const noexcept = 0;
  virtual bool takes(const Mechanism& mechanism) const = 0;
  /// Clients of equally many samples, whose optimizers have made equally many steps. `differences`:
  /// what they send is the weights minus the model's.
  virtual Result<void> run(std::span<Client> clients, std::span<const float> model,
                           bool differences, std::span<const Part> parts) = 0;
  /// The reports that were added since the last call, one sum for each mechanism.
  virtual Result<std::vector<SummedEnvelope>> take_sums(RoundId round) = 0;

  /// Seconds since the last call: in training, and around it.
  struct Times {
    double train = 0.0;
    double engine = 0.0;
  };
  virtual Times take_times() = 0;
};

}  // namespace sotto
