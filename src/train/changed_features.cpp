#include "train/changed_features.h"

#include <algorithm>
#include <numeric>

#include "sotto/federation.h"

namespace sotto {
namespace {

/// Where a model's parts lie: the network's weights, then mean and scale, each `features` long.
struct Parts {
  std::size_t network = 0;
  std::size_t features = 0;

  explicit Parts(const Layout& layout)
      : network(layout.tensors()[layout.tensors().size() - 2].offset),
        features(layout.tensors().back().size) {}
  auto weights(auto model) const { return model.subspan(0, network); }
};

class ChangedTrainer final : public Trainer {
 public:
  ChangedTrainer(std::unique_ptr<Trainer> below, const Layout& layout)
      : below_(std::move(below)), layout_(layout), parts_(layout), change_(2 * parts_.features) {
    changed_.values = std::vector<float>();
  }

  const Layout& layout() const noexcept override { return layout_; }

  Result<void> load(std::span<const float> weights) override {
    std::ranges::copy(weights.subspan(parts_.network), change_.begin());
    return below_->load(parts_.weights(weights));
  }
  Result<void> store(std::span<float> weights) const override {
    std::ranges::copy(change_, weights.subspan(parts_.network).begin());
    return below_->store(parts_.weights(weights));
  }

  Result<void> train(const Dataset& /*data*/, std::span<const std::uint32_t> /*indices*/,
                     const Preprocess& /*preprocess*/, const TrainOptions& /*options*/,
                     BitSource /*bits*/) override {
    return fail(ErrorKind::kUsage, "features are changed for gradients alone");
  }

  Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, std::span<float> out) override {
    change(data, indices, preprocess);
    std::ranges::fill(out.subspan(parts_.network), 0.0F);
    return below_->gradient(changed_, rows_, {}, parts_.weights(out));
  }

  Result<EvaluationSums> evaluate(const Dataset& data, std::span<const std::uint32_t> indices,
                                  const Preprocess& preprocess) override {
    change(data, indices, preprocess);
    return below_->evaluate(changed_, rows_, {});
  }

  Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, FeatureLayer layer,
                        std::span<float> out) override {
    change(data, indices, preprocess);
    return below_->features(changed_, rows_, {}, layer, out);
  }

  bool use_batch_statistics(bool use) override { return below_->use_batch_statistics(use); }

 private:
  /// Fills changed_ with the samples of these rows, and rows_ with their numbers.
  void change(const Dataset& data, std::span<const std::uint32_t> indices,
              const Preprocess& preprocess) {
    const std::size_t size = parts_.features;
    values_.resize(indices.size() * size);
    labels_.resize(indices.size());
    fill_batch(data, indices, preprocess, nullptr, values_, labels_);
    const float* const mean = change_.data();
    const float* const scale = change_.data() + size;
    for (std::size_t first = 0; first < values_.size(); first += size) {
      float* const x = values_.data() + first;
      for (std::size_t i = 0; i < size; ++i) x[i] = (x[i] - mean[i]) * scale[i];
    }
    changed_.shape = output_shape(data, preprocess);
    changed_.classes = data.classes;
    changed_.labels.assign(labels_.begin(), labels_.end());
    std::get<std::vector<float>>(changed_.values).swap(values_);
    rows_.resize(indices.size());
    std::iota(rows_.begin(), rows_.end(), 0U);
  }

  std::unique_ptr<Trainer> below_;
  Layout layout_;
  Parts parts_;
  std::vector<float> change_;  // mean, then scale
  Dataset changed_;
  std::vector<std::uint32_t> rows_;
  std::vector<float> values_;  // memory of the batch before
  std::vector<std::int64_t> labels_;
};

class ChangedFactory final : public TrainerFactory {
 public:
  ChangedFactory(std::shared_ptr<const TrainerFactory> below, Layout layout)
      : below_(std::move(below)), layout_(std::move(layout)), parts_(layout_) {}

  Result<std::unique_ptr<Trainer>> make() const override {
    SOTTO_TRY(auto trainer, below_->make());
    return std::make_unique<ChangedTrainer>(std::move(trainer), layout_);
  }
  const Layout& layout() const noexcept override { return layout_; }
  std::vector<float> initial_weights(std::uint64_t seed) const override {
    std::vector<float> weights = below_->initial_weights(seed);
    weights.insert(weights.end(), parts_.features, 0.0F);
    weights.insert(weights.end(), parts_.features, 1.0F);
    return weights;
  }
  unsigned parallelism() const noexcept override { return below_->parallelism(); }

  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    return below_->save(network_weights(below_->layout(), weights), path);
  }

  bool trains_privately() const noexcept override { return below_->trains_privately(); }
  /// A device changes the features itself, by the end of the model that it is given.
  Result<std::shared_ptr<DeviceRounds>> device_rounds(const DeviceClients& clients) const override {
    return below_->device_rounds(clients);
  }
  std::string device() const override { return below_->device(); }
  std::string version() const override { return below_->version(); }

 private:
  std::shared_ptr<const TrainerFactory> below_;
  Layout layout_;
  Parts parts_;
};

}  // namespace

/// W (x - mean) scale + b is W' x + b' with W' = W scale and b' = b - W' mean.
std::vector<float> network_weights(const Layout& network, std::span<const float> model) {
  const auto own = model.first(network.size());
  std::vector<float> weights(own.begin(), own.end());
  const std::size_t features = (model.size() - network.size()) / 2;
  if (features == 0) return weights;
  const auto mean = model.subspan(network.size(), features);
  const auto scale = model.subspan(network.size() + features, features);
  const TensorSpec& first = network.tensors()[0];
  const TensorSpec& bias = network.tensors()[1];
  for (std::size_t row = 0; row < bias.size; ++row) {
    double shift = 0.0;
    for (std::size_t i = 0; i < features; ++i) {
      float& weight = weights[first.offset + row * features + i];
      const double scaled = static_cast<double>(weight) * static_cast<double>(scale[i]);
      shift += scaled * static_cast<double>(mean[i]);
      weight = static_cast<float>(scaled);
    }
    float& moved = weights[bias.offset + row];
    moved = static_cast<float>(static_cast<double>(moved) - shift);
  }
  return weights;
}

std::shared_ptr<const TrainerFactory> change_features(std::shared_ptr<const TrainerFactory> below,
                                                      Layout layout) {
  return std::make_shared<const ChangedFactory>(std::move(below), std::move(layout));
}

}  // namespace sotto
