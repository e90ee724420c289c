// Rounds on a CUDA device: a TorchCohort trains, DeviceMechanisms perturb and add what it holds.
#include "train/torch/torch_rounds.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/parallel.h"
#include "mechanism/cuda/device_mechanism.h"
#include "train/torch/torch_cohort.h"
#include "train/torch/torch_gradients.h"
#include "train/torch/torch_guard.h"

namespace sotto {
namespace {

/// Of the memory that is free at the start the samples' share, and of the rest that of what layers
/// keep for the backward pass.
constexpr double kSampleShare = 0.5;
constexpr double kActivationShare = 0.5;
/// LibTorch keeps activations, their gradients and copies of both in another order.
constexpr double kCopies = 3.0;
constexpr std::size_t kMostClients = 512;
/// Of the memory beside the samples, what the gradients of clients at once may take.
constexpr double kGradientShare = 0.1;
constexpr std::size_t kMostGradientClients = 16384;

class TorchRounds final : public DeviceRounds {
 public:
  TorchRounds(const Network& network, const torch::Device& device, const DeviceClients& clients,
              std::size_t most, std::size_t most_gradients)
      : network_(network),
        layout_(network.layout()),
        device_(device),
        clients_(clients),
        most_(most),
        most_gradients_(most_gradients),
        samples_(*clients.data, clients.preprocess, device, clients.threads) {
    // The same bits every time, and the processor's precision.
    at::globalContext().setDeterministicCuDNN(true);
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);  // an environment may have allowed it
  }

  std::size_t most_clients() const noexcept override { return most_; }
  bool takes(const Mechanism& mechanism) const override {
    return DeviceMechanism::takes(mechanism);
  }

  Result<void> run(std::span<Client> clients, const Task& task) override {
    return guarded("training on the device", [&]() -> Result<void> {
      if (task.model.size() != layout_.size()) {
        return fail(ErrorKind::kInternal, "features are changed for gradients alone");
      }
      const Stopwatch whole;
      if (!cohort_ || cohort_->clients() != clients.size()) {
        cohort_.reset();
        cohort_.emplace(network_, clients.size(), device_);
      }
      const torch::Tensor start = as_tensor(task.model).to(device_);
      cohort_->load(start);
      SOTTO_TRY(const double seconds, train(clients));
      if (task.weights) store(clients);
      for (const Part& part : task.parts) {
        SOTTO_CHECK(report(part, clients, task.differences ? start.data_ptr<float>() : nullptr,
                           task.reports));
      }
      times_.train += seconds;
      times_.engine += whole.seconds() - seconds;
      return {};
    });
  }

  std::size_t most_gradient_clients() const noexcept override { return most_gradients_; }

  Result<void> run_gradients(const GradientTask& task) override {
    return guarded("gradients on the device", [&]() -> Result<void> {
      const Stopwatch whole;
      std::vector<std::uint32_t> samples;
      for (const std::uint32_t client : task.clients) {
        const auto own = task.samples(client);
        samples.insert(samples.end(), own.begin(), own.end());
      }
      const std::size_t each = samples.size() / task.clients.size();
      if (!gradients_) gradients_.emplace(network_, samples_, device_);
      gradients_->compute(task.model, samples, static_cast<std::int64_t>(task.clients.size()),
                          static_cast<std::int64_t>(each));
      SOTTO_TRY(const auto keys, keys_of(task));
      if (task.reports != nullptr) task.reports->resize(task.clients.size());
      for (std::size_t p = 0; p < task.parts.size(); ++p) {
        const Part& part = task.parts[p];
        SOTTO_TRY(DeviceMechanism* const device, device_of(part));
        std::vector<DeviceMechanism::Place> places;
        for (const std::size_t t : part.tensors) {
          places.push_back({gradients_->rows(t).data_ptr<float>(), nullptr});
        }
        const DeviceMechanism::Filling filling{task.fills_ball, task.fill_floor};
        if (task.reports == nullptr) {
          SOTTO_CHECK(device->add(places, keys[p], filling));
          continue;
        }
        SOTTO_TRY(std::vector<Report> reports, device->reports(places, keys[p], filling));
        for (std::size_t c = 0; c < reports.size(); ++c) {
          (*task.reports)[c].push_back(std::move(reports[c]));
        }
      }
      times_.engine += whole.seconds();
      return {};
    });
  }

  Result<std::vector<SummedEnvelope>> take_sums(RoundId round) override {
    std::vector<SummedEnvelope> sums;
    for (auto& [id, mechanism] : mechanisms_) {
      SOTTO_TRY(SummedEnvelope sum, mechanism->take_sum(round));
      if (sum.reports() > 0) sums.push_back(std::move(sum));
    }
    // Ranges that follow the released values make new mechanisms every round.
    if (mechanisms_.size() > kMostMechanisms) mechanisms_.clear();
    return sums;
  }

  Times take_times() override { return std::exchange(times_, {}); }

 private:
  static constexpr std::size_t kMostMechanisms = 16;

  /// From the loaded model; returns the seconds that it took.
  Result<double> train(std::span<Client> clients) {
    std::size_t buffers = 0;
    if (clients_.keep_buffers) buffers = layout_.size() - layout_.parameter_count();
    std::vector<std::vector<std::uint32_t>> orders;
    std::vector<BitSource*> bits;
    std::vector<std::span<const float>> states;
    for (std::size_t c = 0; c < clients.size(); ++c) {
      Client& client = clients[c];
      orders.push_back(std::move(client.samples));
      bits.push_back(&client.train);
      if (client.state.size() < buffers) continue;
      if (buffers > 0) cohort_->set_buffers(c, std::span(client.state).first(buffers));
      if (clients_.keep_optimizer && client.state.size() > buffers) {
        states.push_back(std::span<const float>(client.state).subspan(buffers));
      }
    }
    if (!states.empty() && states.size() != clients.size()) {
      return fail(ErrorKind::kInternal, "clients side by side whose optimizers differ in steps");
    }
    const Stopwatch training;
    cohort_->train(samples_, orders, bits, clients_.options, states);
    SOTTO_CHECK(wait());
    const double seconds = training.seconds();
    std::vector<std::vector<float>> optimizers;
    if (clients_.keep_optimizer) optimizers = cohort_->optimizer_states();
    for (std::size_t c = 0; c < clients.size(); ++c) {
      clients[c].state.clear();
      if (clients_.keep_buffers) clients[c].state = cohort_->buffers(c);
      if (clients_.keep_optimizer) {
        clients[c].state.insert(clients[c].state.end(), optimizers[c].begin(), optimizers[c].end());
      }
    }
    return seconds;
  }

  void store(std::span<Client> clients) const {
    for (Client& client : clients) client.weights.resize(layout_.size());
    for (std::size_t t = 0; t < layout_.tensors().size(); ++t) {
      const TensorSpec& tensor = layout_.tensors()[t];
      const torch::Tensor rows = cohort_->rows(t).detach().cpu();
      const float* from = rows.data_ptr<float>();
      for (Client& client : clients) {
        std::copy_n(from, tensor.size,
                    client.weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
        from += tensor.size;
      }
    }
  }

  Result<void> report(const Part& part, std::span<Client> clients, const float* model,
                      bool gives_reports) {
    SOTTO_TRY(DeviceMechanism* const device, device_of(part));
    std::vector<DeviceMechanism::Place> places;
    for (const std::size_t t : part.tensors) {
      places.push_back({cohort_->rows(t).data_ptr<float>(),
                        model == nullptr ? nullptr : model + layout_.tensors()[t].offset});
    }
    std::vector<StreamKey> keys;
    for (Client& client : clients) keys.emplace_back(client.perturb);
    if (!gives_reports) return device->add(places, keys);
    SOTTO_TRY(std::vector<Report> reports, device->reports(places, keys));
    for (std::size_t c = 0; c < clients.size(); ++c) {
      clients[c].reports.push_back(std::move(reports[c]));
    }
    return {};
  }

  Result<DeviceMechanism*> device_of(const Part& part) {
    auto& device = mechanisms_[std::string(part.mechanism->id())];
    if (!device) {
      SOTTO_TRY(device, DeviceMechanism::make(part.mechanism, clients_.threads));
    }
    return device.get();
  }

  /// Of each part the keys of all clients: a client's bits give them in the order of the parts.
  Result<std::vector<std::vector<StreamKey>>> keys_of(const GradientTask& task) const {
    constexpr std::size_t kTogether = 64;
    const std::size_t count = task.clients.size();
    BitSource none = BitSource::from_seed(0, "none");
    std::vector<std::vector<StreamKey>> keys(task.parts.size(),
                                             std::vector<StreamKey>(count, StreamKey(none)));
    SOTTO_CHECK(parallel_for(clients_.threads, (count + kTogether - 1) / kTogether,
                             [&](unsigned /*lane*/, std::size_t part) -> Result<void> {
                               const std::size_t end = std::min(count, (part + 1) * kTogether);
                               for (std::size_t c = part * kTogether; c < end; ++c) {
                                 BitSource bits = task.perturb(task.clients[c]);
                                 for (std::vector<StreamKey>& own : keys) own[c] = StreamKey(bits);
                               }
                               return {};
                             }));
    return keys;
  }

  static Result<void> wait() {
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      return fail(ErrorKind::kInternal,
                  std::string("training on the device: ") + cudaGetErrorString(error));
    }
    return {};
  }

  Network network_;
  Layout layout_;
  torch::Device device_;
  DeviceClients clients_;
  std::size_t most_;
  std::size_t most_gradients_;
  TorchSamples samples_;
  std::optional<LinearGradients> gradients_;
  std::optional<TorchCohort> cohort_;
  std::map<std::string, std::unique_ptr<DeviceMechanism>> mechanisms_;
  Times times_;
};

}  // namespace

Result<std::shared_ptr<DeviceRounds>> make_torch_rounds(const Network& network,
                                                        const torch::Device& device,
                                                        const DeviceClients& clients) {
  if (clients.options.clip > 0.0) return nullptr;  // DP-SGD
  std::size_t free = 0;
  std::size_t total = 0;
  cudaSetDevice(device.has_index() ? device.index() : 0);
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return nullptr;
  const auto bytes = static_cast<double>(free);
  const auto samples =
      static_cast<double>(TorchSamples::device_bytes(*clients.data, clients.preprocess));
  if (samples > kSampleShare * bytes) return nullptr;
  const double each = 4.0 * kCopies * static_cast<double>(activation_count(network)) *
                          static_cast<double>(clients.options.batch_size) +
                      4.0 * kCopies * static_cast<double>(network.layout().size());
  const auto most = static_cast<std::size_t>(kActivationShare * (bytes - samples) / each);
  if (most < 2) return nullptr;
  std::size_t gradients = 0;
  if (LinearGradients::takes(network) && !clients.preprocess.augments()) {
    // A client's rows of one sample and its gradient, once more while they are made.
    const double own = 8.0 * static_cast<double>(network.layout().size() +
                                                 clients.data->views * network.input.size());
    gradients =
        std::clamp<std::size_t>(static_cast<std::size_t>(kGradientShare * (bytes - samples) / own),
                                1, kMostGradientClients);
  }
  return guarded("preparing the device", [&]() -> Result<std::shared_ptr<DeviceRounds>> {
    return std::make_shared<TorchRounds>(network, device, clients, std::min(most, kMostClients),
                                         gradients);
  });
}

}  // namespace sotto
