// Local training, seen from outside: weights in, weights out. No tensor library's type crosses.
//
// A Trainer belongs to one thread and holds one copy of the network; the federation makes one for
// each worker and lends it to client after client, so memory grows with threads, not with clients.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sotto/bits.h"
#include "sotto/choices.h"
#include "sotto/data.h"
#include "sotto/layout.h"
#include "sotto/network.h"
#include "sotto/result.h"

namespace sotto {

struct TrainOptions {
  Optimizer optimizer = Optimizer::kSgd;
  double learning_rate = 0.1;
  double momentum = 0.0;      // SGD
  double weight_decay = 0.0;  // L2, added to the gradient
  double rate_decay = 0.0;    // step t has learning_rate / (1 + rate_decay t), t from 0
  std::uint32_t batch_size = 16;
  std::uint32_t epochs = 1;
  std::function<void()> on_epoch;  // called after each pass, by the thread that trains

  /// DP-SGD: the l2 norm that the gradient of each sample is clipped to; 0: plain training. Batches
  /// are then lots (lots_of), and what is added to a lot's sum has the deviation clip * noise.
  double clip = 0.0;
  double noise = 0.0;
  /// Whether the noisy sum is rounded to a lattice, which hides what doubles do in the last bits.
  /// Noise that is to add up with that of other clients must not be.
  bool rounds_noise = true;
};

/// How a client with so many samples is taken through DP-SGD in one round: in every step each
/// sample joins the lot on its own with probability size / samples.
struct Lots {
  std::uint64_t samples = 0;
  std::uint64_t size = 0;   // expected
  std::uint64_t steps = 0;  // epochs * samples / batch_size, rounded, at least one
  double sampling() const { return static_cast<double>(size) / static_cast<double>(samples); }
};
Lots lots_of(const TrainOptions& options, std::size_t samples);

/// An error for a network with statistics over batches: they mix samples, so that no clipping
/// bounds what one of them does, and leave unprotected.
Result<void> check_private(const Layout& layout);

/// Noisy sums are rounded to clip * noise over this: it adds 2 % to the variance.
inline constexpr double kNoiseLattice = 2.0;
/// The probability, at most, that one step's rounded sum is not the one of real numbers.
double step_coupling(std::size_t parameters, const Lots& lots, double noise);

struct EvaluationSums {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double loss = 0.0;  // summed over samples

  void add(const EvaluationSums& other) {
    samples += other.samples;
    correct += other.correct;
    loss += other.loss;
  }
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  virtual const Layout& layout() const noexcept = 0;
  virtual Result<void> load(std::span<const float> weights) = 0;
  virtual Result<void> store(std::span<float> weights) const = 0;

  /// Trains from the loaded weights on the samples `indices`, with a fresh optimizer. `bits`
  /// decides the order of samples, augmentation and dropout.
  virtual Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                             const Preprocess& preprocess, const TrainOptions& options,
                             BitSource bits) = 0;

  /// The mean gradient of the loss over the samples `indices`, at the loaded weights and in
  /// evaluation mode: no augmentation, no dropout, batch norm by its stored statistics. `out` has
  /// layout().size() elements; those of buffers become 0.
  virtual Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                                const Preprocess& preprocess, std::span<float> out) {
    (void)data, (void)indices, (void)preprocess, (void)out;
    return fail(ErrorKind::kUsage, "this trainer cannot tell a gradient");
  }

  /// The gradient at each sample by itself: into out[i] what gradient() would write for indices[i]
  /// alone, to the last bit. One by one, unless a trainer knows better.
  virtual Result<void> sample_gradients(const Dataset& data, std::span<const std::uint32_t> indices,
                                        const Preprocess& preprocess,
                                        std::span<const std::span<float>> out) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      SOTTO_CHECK(gradient(data, indices.subspan(i, 1), preprocess, out[i]));
    }
    return {};
  }

  /// Starts the next train() from this state instead of afresh; empty: afresh.
  virtual void set_optimizer_state(std::span<const float> state) { (void)state; }
  /// Where the last train() left its optimizer; empty from a trainer that has nothing to keep.
  virtual std::vector<float> optimizer_state() const { return {}; }

  /// Whether evaluation normalises by the statistics of the batch itself, for models whose own
  /// statistics never reach the server. False from a trainer that cannot.
  virtual bool use_batch_statistics(bool use) { return !use; }

  virtual Result<EvaluationSums> evaluate(const Dataset& data,
                                          std::span<const std::uint32_t> indices,
                                          const Preprocess& preprocess) = 0;

  /// Writes the features of each sample, one sample after the other, at the loaded weights and
  /// without augmentation. `out` has a multiple of indices.size() elements: as many features each
  /// as the layer has.
  virtual Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                                const Preprocess& preprocess, FeatureLayer layer,
                                std::span<float> out) {
    (void)data, (void)indices, (void)preprocess, (void)layer, (void)out;
    return fail(ErrorKind::kUsage, "this trainer cannot tell the features of a sample");
  }
};

struct TrainerRequest {
  /// Either a network of ours or a TorchScript file.
  Network network;
  std::filesystem::path file;
  SampleShape input;  // of the samples, after preprocessing
  std::int64_t classes = 0;
  std::string device = "cpu";  // "cpu", "cuda", "cuda:1"
  Engine engine = Engine::kAuto;
  bool gradients = false;  // clients send gradients: no optimizer will run
};

class DeviceRounds;
struct DeviceClients;

class TrainerFactory {
 public:
  virtual ~TrainerFactory() = default;
  virtual Result<std::unique_ptr<Trainer>> make() const = 0;
  virtual const Layout& layout() const noexcept = 0;
  /// The weights that training starts from.
  virtual std::vector<float> initial_weights(std::uint64_t seed) const = 0;
  /// How many trainers may work at once and still give the same result for the same bits. A network
  /// of the user's that draws from the library's global generator (TorchScript dropout) allows one.
  virtual unsigned parallelism() const noexcept = 0;
  /// Writes the weights as a PyTorch state_dict, atomically.
  virtual Result<void> save(std::span<const float> weights,
                            const std::filesystem::path& path) const = 0;
  /// Whether its trainers heed TrainOptions::clip and noise. A recipe with DP-SGD is refused where
  /// they do not: the noise that its claims speak of would not be there.
  virtual bool trains_privately() const noexcept { return false; }
  /// Whole rounds on an accelerator; nothing from a factory that has none, or none for such
  /// clients.
  virtual Result<std::shared_ptr<DeviceRounds>> device_rounds(const DeviceClients& clients) const {
    (void)clients;
    return nullptr;
  }
  virtual std::string device() const = 0;
  /// "LibTorch 1.13.1, CPU": for run records.
  virtual std::string version() const = 0;
};

/// The trainer on LibTorch.
Result<std::shared_ptr<const TrainerFactory>> make_torch_factory(const TrainerRequest& request);

}  // namespace sotto
