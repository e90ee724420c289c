// Rounds of a simulation that stay on an accelerator: clients are trained side by side, their
// payloads bounded, perturbed and added there, and only the sums of symbols come back.
#pragma once

#include <functional>
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
  unsigned threads = 1;  // of the processor, that make samples
};

class DeviceRounds {
 public:
  virtual ~DeviceRounds() = default;

  struct Client {
    std::vector<std::uint32_t> samples;
    BitSource train;    // decides their order
    BitSource perturb;  // decides the symbols
    /// What it kept of its last round and, after run(), what it keeps of this one: as
    /// the pool of clients has it.
    std::vector<float> state;
    /// One for each part, where run() is to give them; else they are only added up.
    std::vector<Report> reports;
    /// All that it has trained, in the layout's order, where run() is to give it.
    std::vector<float> weights = {};
  };
  struct Part {
    std::shared_ptr<const Mechanism> mechanism;
    std::span<const std::size_t> tensors;
  };

  /// How many clients are trained at once.
  virtual std::size_t most_clients() const noexcept = 0;
  virtual bool takes(const Mechanism& mechanism) const = 0;
  struct Task {
    std::span<const float> model;
    bool differences = false;  // what clients send is their weights minus the model's
    bool reports = false;      // whether they are given, or only their sums
    bool weights = false;      // whether they are given: for a client's own use, never to be sent
    std::span<const Part> parts;
  };
  /// Clients of equally many samples, whose optimizers have made equally many steps.
  virtual Result<void> run(std::span<Client> clients, const Task& task) = 0;

  /// How many clients send a gradient at once; 0: this device takes no such rounds.
  virtual std::size_t most_gradient_clients() const noexcept { return 0; }
  /// Clients of equally many samples that send the gradient at the model: that of the network and,
  /// behind it, what statistics change features by, if any (train/changed_features.h).
  struct GradientTask {
    std::span<const float> model;
    std::span<const std::uint32_t> clients;
    /// Of one client; asked from several threads.
    std::function<std::span<const std::uint32_t>(std::uint32_t client)> samples;
    std::function<BitSource(std::uint32_t client)> perturb;
    bool fills_ball = false;  // as RoundPlan says it
    double fill_floor = 0.0;
    std::span<const Part> parts;
    /// Of each client one for each part; null: they are only added up.
    std::vector<std::vector<Report>>* reports = nullptr;
  };
  virtual Result<void> run_gradients(const GradientTask& task) {
    static_cast<void>(task);
    return fail(ErrorKind::kInternal, "this device takes no gradients");
  }

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
