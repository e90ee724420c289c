// The Trainer on LibTorch.
#include <dlfcn.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>
#include <torch/version.h>

#include <numeric>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "sotto/trainer.h"
#include "train/private_step.h"
#include "train/torch/torch_guard.h"
#include "train/torch/torch_net.h"
#include "train/torch/torch_optimizer.h"
#ifdef SOTTO_WITH_CUDA
#include "train/torch/torch_rounds.h"
#endif

namespace sotto {
namespace {

/// Samples evaluated together: many small ones, few large ones, so that activations stay small.
std::size_t evaluation_batch(SampleShape shape) {
  constexpr std::size_t kMostValues = std::size_t{1} << 21;
  return std::clamp<std::size_t>(kMostValues / shape.size(), 1, 256);
}

/// Parallelism comes from training several clients at once; a second level of threads inside each
/// would only make them wait for one another, and the results depend on the number of threads.
void use_one_thread_here() {
  static const bool once = [] {
    at::set_num_interop_threads(1);
    using SetThreads = void (*)(int);
    if (auto* const set =
            reinterpret_cast<SetThreads>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
      set(1);
    }
    // The profiling executor rewrites a graph after its first runs, which moves last bits.
    torch::jit::getProfilingMode() = false;
    torch::jit::getExecutorMode() = false;
    return true;
  }();
  (void)once;
  at::set_num_threads(1);  // a setting of the calling thread under OpenMP
}

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(const Layout& layout, std::unique_ptr<TorchNet> net, torch::Device device)
      : layout_(layout), net_(std::move(net)), device_(device) {}

  const Layout& layout() const noexcept override { return layout_; }

  Result<void> load(std::span<const float> weights) override {
    return guarded("loading weights", [&]() -> Result<void> {
      net_->load(weights);
      return {};
    });
  }

  Result<void> store(std::span<float> weights) const override {
    return guarded("storing weights", [&]() -> Result<void> {
      net_->store(weights);
      return {};
    });
  }

  Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                     const Preprocess& preprocess, const TrainOptions& options,
                     BitSource bits) override {
    if (options.clip > 0.0) return train_privately(data, indices, preprocess, options, bits);
    return guarded("training", [&]() -> Result<void> {
      use_one_thread_here();
      FlatOptimizer& optimizer = begin_optimizer(options);
      order_.assign(indices.begin(), indices.end());
      for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
        shuffle(std::span(order_), bits);
        for (std::size_t first = 0; first < order_.size(); first += options.batch_size) {
          const std::size_t size = std::min<std::size_t>(options.batch_size, order_.size() - first);
          const auto [x, y] = batch(data, std::span(order_).subspan(first, size), preprocess,
                                    preprocess.augments() ? &bits : nullptr);
          torch::nn::functional::cross_entropy(net_->forward(x, &bits), y).backward();
          optimizer.step();
        }
        if (options.on_epoch) options.on_epoch();
      }
      return {};
    });
  }

  void set_optimizer_state(std::span<const float> state) override {
    start_.assign(state.begin(), state.end());
  }
  std::vector<float> optimizer_state() const override {
    return optimizer_ ? optimizer_->state() : std::vector<float>();
  }

  bool use_batch_statistics(bool use) override { return net_->use_batch_statistics(use); }

  Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, std::span<float> out) override {
    return guarded("differentiating", [&]() -> Result<void> {
      use_one_thread_here();
      net_->gradients().zero_();
      const std::size_t together = evaluation_batch(output_shape(data, preprocess));
      const auto summed = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
      for (std::size_t first = 0; first < indices.size(); first += together) {
        const std::size_t size = std::min(together, indices.size() - first);
        const auto [x, y] = batch(data, indices.subspan(first, size), preprocess, nullptr);
        torch::nn::functional::cross_entropy(net_->forward(x, nullptr), y, summed).backward();
      }
      net_->gradients().div_(static_cast<double>(indices.size()));
      net_->store_gradients(out);
      net_->gradients().zero_();
      return {};
    });
  }

  Result<EvaluationSums> evaluate(const Dataset& data, std::span<const std::uint32_t> indices,
                                  const Preprocess& preprocess) override {
    return guarded("evaluating", [&]() -> Result<EvaluationSums> {
      use_one_thread_here();
      const torch::NoGradGuard no_grad;
      EvaluationSums sums;
      const std::size_t together = evaluation_batch(output_shape(data, preprocess));
      for (std::size_t first = 0; first < indices.size(); first += together) {
        const std::size_t size = std::min(together, indices.size() - first);
        const auto [x, y] = batch(data, indices.subspan(first, size), preprocess, nullptr);
        const torch::Tensor scores = net_->forward(x, nullptr);
        const auto summed = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
        sums.loss += torch::nn::functional::cross_entropy(scores, y, summed).item<double>();
        sums.correct +=
            static_cast<std::uint64_t>(scores.argmax(1).eq(y).sum().item<std::int64_t>());
        sums.samples += size;
      }
      return sums;
    });
  }

  Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, FeatureLayer layer,
                        std::span<float> out) override {
    return guarded("computing features", [&]() -> Result<void> {
      use_one_thread_here();
      const torch::NoGradGuard no_grad;
      const std::size_t together = evaluation_batch(output_shape(data, preprocess));
      const std::size_t each = indices.empty() ? 0 : out.size() / indices.size();
      for (std::size_t first = 0; first < indices.size(); first += together) {
        const std::size_t size = std::min(together, indices.size() - first);
        const torch::Tensor x =
            batch(data, indices.subspan(first, size), preprocess, nullptr).first;
        const torch::Tensor values =
            layer == FeatureLayer::kScores ? net_->forward(x, nullptr) : net_->flattened(x);
        if (!values.defined()) {
          return fail(ErrorKind::kUsage,
                      "this network has no flattening layer to take features of");
        }
        if (values.size(1) != static_cast<std::int64_t>(each)) {
          return fail(ErrorKind::kInternal, "features: " + std::to_string(values.size(1)) +
                                                " values a sample, " + std::to_string(each) +
                                                " expected");
        }
        torch::from_blob(out.data() + first * each, values.sizes()).copy_(values);
      }
      return {};
    });
  }

 private:
  /// A fresh one, or one that goes on from the state that was set.
  FlatOptimizer& begin_optimizer(const TrainOptions& options) {
    FlatOptimizer& optimizer = optimizer_.emplace(options, net_->parameters(), net_->gradients());
    if (!start_.empty()) optimizer.restore(start_);
    start_.clear();
    return optimizer;
  }

  /// DP-SGD. One backward pass for each sample: its gradient then depends on nothing but the
  /// weights and the sample, to the last bit, which is what clipping needs.
  Result<void> train_privately(const Dataset& data, std::span<const std::uint32_t> indices,
                               const Preprocess& preprocess, const TrainOptions& options,
                               BitSource& bits) {
    SOTTO_CHECK(check_private(layout_));
    return guarded("private training", [&]() -> Result<void> {
      use_one_thread_here();
      FlatOptimizer& optimizer = begin_optimizer(options);
      const Lots lots = lots_of(options, indices.size());
      const auto parameters = static_cast<std::size_t>(net_->parameters().numel());
      PrivateStep step(parameters, options);
      std::vector<float> noisy(parameters);
      for (std::uint64_t i = 0; i < lots.steps; ++i) {
        for (const std::uint32_t& index : indices) {
          if (bits.below(lots.samples) >= lots.size) continue;
          const auto [x, y] = batch(data, std::span(&index, 1), preprocess,
                                    preprocess.augments() ? &bits : nullptr);
          torch::nn::functional::cross_entropy(net_->forward(x, &bits), y).backward();
          const torch::Tensor gradient = net_->gradients().to(torch::kCPU);
          step.add(std::span(gradient.data_ptr<float>(), parameters));
          net_->gradients().zero_();
        }
        step.finish(bits, static_cast<double>(lots.size), noisy);
        const torch::NoGradGuard no_grad;
        net_->gradients().copy_(
            torch::from_blob(noisy.data(), {static_cast<std::int64_t>(parameters)}));
        optimizer.step();
      }
      return {};
    });
  }

  std::pair<torch::Tensor, torch::Tensor> batch(const Dataset& data,
                                                std::span<const std::uint32_t> indices,
                                                const Preprocess& preprocess, BitSource* augment) {
    const SampleShape shape = output_shape(data, preprocess);
    pixels_.resize(indices.size() * shape.size());
    labels_.resize(indices.size());
    fill_batch(data, indices, preprocess, augment, pixels_, labels_);
    const auto count = static_cast<std::int64_t>(indices.size());
    torch::Tensor x =
        torch::from_blob(pixels_.data(), {count, shape.channels, shape.height, shape.width});
    torch::Tensor y = torch::from_blob(labels_.data(), {count}, torch::kInt64);
    x = as_channels_last(x);
    if (!device_.is_cpu()) {
      x = x.to(device_);
      y = y.to(device_);
    }
    return {x, y};
  }

  torch::Tensor as_channels_last(const torch::Tensor& x) const {
    if (net_->memory_format() != torch::MemoryFormat::ChannelsLast) return x;
    // With one channel both layouts are the same bytes, but LibTorch then takes the slower one
    // unless the strides say otherwise.
    if (x.size(1) == 1) {
      return x.as_strided(x.sizes(), {x.size(2) * x.size(3), 1, x.size(3), 1});
    }
    return x.contiguous(torch::MemoryFormat::ChannelsLast);
  }

  Layout layout_;
  std::unique_ptr<TorchNet> net_;
  torch::Device device_;
  std::optional<FlatOptimizer> optimizer_;  // of the last train()
  std::vector<float> start_;                // where the next one's optimizer starts; empty: afresh
  std::vector<std::uint32_t> order_;
  std::vector<float> pixels_;
  std::vector<std::int64_t> labels_;
};

class TorchFactory final : public TrainerFactory {
 public:
  TorchFactory(Network network, std::shared_ptr<const ScriptModel> script, torch::Device device)
      : network_(std::move(network)),
        script_(std::move(script)),
        layout_(script_ ? script_->layout() : network_.layout()),
        device_(device) {}

  Result<std::unique_ptr<Trainer>> make() const override {
    return guarded("making a network", [&]() -> Result<std::unique_ptr<Trainer>> {
      use_one_thread_here();
      auto net = script_ ? script_->instantiate(device_) : make_sequential_net(network_, device_);
      return std::make_unique<TorchTrainer>(layout_, std::move(net), device_);
    });
  }

  const Layout& layout() const noexcept override { return layout_; }

  std::vector<float> initial_weights(std::uint64_t seed) const override {
    if (script_) return script_->weights();
    BitSource bits = BitSource::from_seed(seed, "initialise");
    return network_.initialise(bits);
  }

  unsigned parallelism() const noexcept override {
    return script_ && script_->is_random() ? 1 : std::numeric_limits<unsigned>::max();
  }

  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    return guarded("saving the model", [&]() -> Result<void> {
      c10::Dict<std::string, torch::Tensor> state;
      for (const TensorSpec& tensor : layout_.tensors()) {
        auto* const from = const_cast<float*>(weights.data() + tensor.offset);
        state.insert(tensor.name, torch::from_blob(from, tensor.shape).clone());
      }
      const std::vector<char> bytes = torch::pickle_save(state);
      return write_file_atomically(path, std::as_bytes(std::span(bytes)));
    });
  }

  bool trains_privately() const noexcept override { return true; }

#ifdef SOTTO_WITH_CUDA
  Result<std::shared_ptr<DeviceRounds>> device_rounds(const DeviceClients& clients) const override {
    if (script_ || !device_.is_cuda()) return nullptr;
    return make_torch_rounds(network_, device_, clients);
  }
#endif

  std::string device() const override { return device_.str(); }

  std::string version() const override {
    return std::string("LibTorch ") + TORCH_VERSION + (device_.is_cuda() ? ", CUDA" : ", CPU");
  }

 private:
  Network network_;
  std::shared_ptr<const ScriptModel> script_;
  Layout layout_;
  torch::Device device_;
};

Result<torch::Device> parse_device(const std::string& name) {
  if (name != "cpu" && name != "cuda" && !name.starts_with("cuda:")) {
    return fail(ErrorKind::kUsage, "unknown device '" + name + "'; valid: cpu, cuda, cuda:N");
  }
  try {
    const torch::Device device(name);
    if (device.is_cuda() && !torch::cuda::is_available()) {
      return fail(ErrorKind::kUsage,
                  "device '" + name + "': LibTorch finds no CUDA here; use --device cpu");
    }
    if (device.is_cuda() && device.has_index() &&
        int{device.index()} >= static_cast<int>(torch::cuda::device_count())) {
      return fail(ErrorKind::kUsage, "device '" + name + "': there are only " +
                                         std::to_string(torch::cuda::device_count()));
    }
    return device;
  } catch (const c10::Error&) {
    return fail(ErrorKind::kUsage, "unknown device '" + name + "'; valid: cpu, cuda, cuda:N");
  }
}

}  // namespace

Result<std::shared_ptr<const TrainerFactory>> make_torch_factory(const TrainerRequest& request) {
  use_one_thread_here();
  SOTTO_TRY(const torch::Device device, parse_device(request.device));
  std::shared_ptr<const ScriptModel> script;
  if (!request.file.empty()) {
    SOTTO_TRY(script, ScriptModel::load(request.file, request.input, request.classes));
  }
  return std::make_shared<const TorchFactory>(request.network, std::move(script), device);
}

}  // namespace sotto
