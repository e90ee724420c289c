// Softmax regression for clients of a few samples: one pass over the weights for a sample's scores
// and one over the gradient for every few samples. Sums run in a fixed order, so a result depends
// neither on threads nor on the instruction set.
#include <algorithm>
#include <cmath>

#include "sotto/native.h"
#include "train/native/linear_kernels.h"
#include "train/native/trainers.h"

namespace sotto {
namespace {

/// Samples whose shares of a gradient are added together: the gradient is read and written once for
/// all of them.
constexpr std::size_t kTogether = 16;

/// Scores become probabilities; what is returned is the loss -ln P(label).
double softmax(std::span<float> scores, std::size_t label) {
  const double most = *std::ranges::max_element(scores);
  const double right = scores[label];
  double sum = 0.0;
  for (const float score : scores) sum += std::exp(score - most);
  for (float& score : scores) score = static_cast<float>(std::exp(score - most) / sum);
  return std::log(sum) + most - right;
}

class LinearTrainer final : public Trainer {
 public:
  LinearTrainer(Layout layout, std::size_t inputs, std::size_t classes)
      : layout_(std::move(layout)),
        shape_{inputs, classes},
        weights_(layout_.size()),
        samples_(kTogether * inputs),
        scores_(kTogether * classes) {}

  const Layout& layout() const noexcept override { return layout_; }

  Result<void> load(std::span<const float> weights) override {
    std::ranges::copy(weights, weights_.begin());
    return {};
  }
  Result<void> store(std::span<float> weights) const override {
    std::ranges::copy(weights_, weights.begin());
    return {};
  }

  Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                     const Preprocess& preprocess, const TrainOptions& options,
                     BitSource bits) override {
    if (options.optimizer != Optimizer::kSgd || options.clip != 0.0 || options.noise != 0.0) {
      return fail(ErrorKind::kUsage, "the native engine trains by plain sgd alone");
    }
    std::vector<std::uint32_t> order(indices.begin(), indices.end());
    step_.resize(weights_.size());
    velocity_.assign(weights_.size(), 0.0F);
    const auto rate = static_cast<float>(options.learning_rate);
    const auto momentum = static_cast<float>(options.momentum);
    const auto decay = static_cast<float>(options.weight_decay);
    for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
      shuffle(std::span(order), bits);
      for (std::size_t first = 0; first < order.size(); first += options.batch_size) {
        const std::size_t size = std::min<std::size_t>(options.batch_size, order.size() - first);
        add_up(data, std::span(order).subspan(first, size), preprocess,
               preprocess.augments() ? &bits : nullptr, step_);
        for (std::size_t i = 0; i < step_.size(); ++i) {
          velocity_[i] = momentum * velocity_[i] + (step_[i] + decay * weights_[i]);
          weights_[i] -= rate * velocity_[i];
        }
      }
    }
    return {};
  }

  Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, std::span<float> out) override {
    add_up(data, indices, preprocess, nullptr, out);
    return {};
  }

  Result<EvaluationSums> evaluate(const Dataset& data, std::span<const std::uint32_t> indices,
                                  const Preprocess& preprocess) override {
    EvaluationSums sums;
    for (const std::uint32_t index : indices) {
      const std::size_t label = read(data, index, preprocess, nullptr, 0);
      const auto best = std::ranges::max_element(scores(0)) - scores(0).begin();
      sums.correct += static_cast<std::size_t>(best) == label ? 1 : 0;
      sums.loss += softmax(scores(0), label);
      ++sums.samples;
    }
    return sums;
  }

  /// Its scores, or what the one layer is given: the sample itself.
  Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, FeatureLayer layer,
                        std::span<float> out) override {
    const std::span<const float> values = layer == FeatureLayer::kScores ? scores(0) : sample(0);
    if (out.size() != indices.size() * values.size()) {
      return fail(ErrorKind::kInternal,
                  "features: each sample has " + std::to_string(values.size()) + " of them here");
    }
    auto place = out.begin();
    for (const std::uint32_t index : indices) {
      read(data, index, preprocess, nullptr, 0);
      place = std::ranges::copy(values, place).out;
    }
    return {};
  }

 private:
  std::span<float> sample(std::size_t place) {
    return std::span(samples_).subspan(place * shape_.inputs, shape_.inputs);
  }
  std::span<float> scores(std::size_t place) {
    return std::span(scores_).subspan(place * shape_.classes, shape_.classes);
  }

  /// Fills the sample at `place` and its scores; returns the label.
  std::size_t read(const Dataset& data, std::uint32_t index, const Preprocess& preprocess,
                   BitSource* augment, std::size_t place) {
    std::int64_t label = 0;
    fill_batch(data, std::span(&index, 1), preprocess, augment, sample(place),
               std::span(&label, 1));
    native::linear_scores(shape_, weights_.data(), weights_.data() + shape_.classes * shape_.inputs,
                          sample(place).data(), scores(place).data());
    return static_cast<std::size_t>(label);
  }

  /// The mean over the samples of (P(class) - [class is the label]) x, and of that factor alone for
  /// the biases.
  void add_up(const Dataset& data, std::span<const std::uint32_t> indices,
              const Preprocess& preprocess, BitSource* augment, std::span<float> out) {
    std::ranges::fill(out, 0.0F);
    const float share = 1.0F / static_cast<float>(indices.size());
    float* const biases = out.data() + shape_.classes * shape_.inputs;
    for (std::size_t first = 0; first < indices.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, indices.size() - first);
      for (std::size_t place = 0; place < count; ++place) {
        const std::size_t label = read(data, indices[first + place], preprocess, augment, place);
        const std::span<float> factors = scores(place);
        softmax(factors, label);
        factors[label] -= 1.0F;
        for (std::size_t c = 0; c < factors.size(); ++c) {
          factors[c] *= share;
          biases[c] += factors[c];
        }
      }
      native::add_weighted_samples(shape_, count, scores_.data(), samples_.data(), out.data());
    }
  }

  Layout layout_;
  native::LinearShape shape_;
  std::vector<float> weights_;          // a row for each class, then the biases
  std::vector<float> samples_;          // kTogether of them, one after the other
  std::vector<float> scores_;           // of these
  std::vector<float> step_, velocity_;  // of training
};

}  // namespace

bool is_linear(const Network& network) {
  const auto weighs = [](const Layer& layer) { return layer.kind != LayerKind::kFlatten; };
  return std::ranges::count_if(network.layers, weighs) == 1 &&
         std::ranges::find_if(network.layers, weighs)->kind == LayerKind::kLinear;
}

std::unique_ptr<Trainer> native::make_linear_trainer(const Network& network) {
  return std::make_unique<LinearTrainer>(network.layout(), network.input.size(),
                                         static_cast<std::size_t>(network.classes));
}

}  // namespace sotto
