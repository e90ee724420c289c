// Training by the native engine, with the same order of samples and the same draws as on LibTorch.
#include <algorithm>
#include <array>

#include "base/exact/sums.h"
#include "train/native/net.h"
#include "train/native/optimizer.h"
#include "train/native/trainers.h"
#include "train/private_step.h"

namespace sotto::native {
namespace {

/// Samples that go through the network together where the number does not show in the result.
constexpr std::size_t kTogether = 32;
/// Where all their gradients are written out afterwards: fewer, which are still near by then.
constexpr std::size_t kWrittenTogether = 8;

/// As many as the LibTorch engine evaluates together: it shows where batch norm takes a batch's own
/// statistics.
std::size_t statistics_batch(SampleShape shape) {
  constexpr std::size_t kMostValues = std::size_t{1} << 21;
  return std::clamp<std::size_t>(kMostValues / shape.size(), 1, 256);
}

class SequentialTrainer final : public Trainer {
 public:
  explicit SequentialTrainer(const Network& network)
      : layout_(network.layout()),
        flattened_(static_cast<std::size_t>(network.features())),
        net_(network),
        values_(network.input.size()) {}

  const Layout& layout() const noexcept override { return layout_; }

  Result<void> load(std::span<const float> weights) override {
    net_.load(weights);
    return {};
  }
  Result<void> store(std::span<float> weights) const override {
    net_.store(weights);
    return {};
  }

  Result<void> train(const Dataset& data, std::span<const std::uint32_t> indices,
                     const Preprocess& preprocess, const TrainOptions& options,
                     BitSource bits) override {
    begin_steps(options);
    BitSource* const augment = preprocess.augments() ? &bits : nullptr;
    if (options.clip > 0.0) {
      return train_privately(data, indices, preprocess, options, bits, augment);
    }
    net_.reserve(std::min<std::size_t>(options.batch_size, indices.size()),
                 Net::Gradients::kOfBatch);
    order_.assign(indices.begin(), indices.end());
    for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
      shuffle(std::span(order_), bits);
      for (std::size_t first = 0; first < order_.size(); first += options.batch_size) {
        const std::size_t size = std::min<std::size_t>(options.batch_size, order_.size() - first);
        read(data, std::span(order_).subspan(first, size), preprocess, augment);
        net_.forward(size, Pass::kTrain, &bits);
        begin_back(size, 1.0 / static_cast<double>(size));
        if (const auto step = steps_.begin_sgd()) {
          net_.back_and_step(size, *step, steps_.velocity());
        } else {
          net_.back(size, false);
          steps_.step(net_.weights().data(), net_.gradients().data());
        }
      }
      if (options.on_epoch) options.on_epoch();
    }
    return {};
  }

  void set_optimizer_state(std::span<const float> state) override {
    start_.assign(state.begin(), state.end());
  }
  std::vector<float> optimizer_state() const override {
    return has_trained_ ? steps_.state(net_.places()) : std::vector<float>();
  }

  bool use_batch_statistics(bool use) override {
    batch_statistics_ = use;
    return true;
  }

  Result<void> gradient(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, std::span<float> out) override {
    bool add = false;
    each_batch(data, indices, preprocess, Net::Gradients::kOfBatch,
               [&](std::size_t, std::size_t size) {
                 begin_back(size, 1.0);
                 net_.back(size, add);
                 add = true;
               });
    if (indices.empty()) {
      std::ranges::fill(out, 0.0F);
    } else {
      net_.store_gradients(out, static_cast<float>(1.0 / static_cast<double>(indices.size())));
    }
    return {};
  }

  Result<void> sample_gradients(const Dataset& data, std::span<const std::uint32_t> indices,
                                const Preprocess& preprocess,
                                std::span<const std::span<float>> out) override {
    // A batch's own statistics are not those of a single sample.
    if (batch_statistics_) return Trainer::sample_gradients(data, indices, preprocess, out);
    reserve_one();
    each_batch(data, indices, preprocess, Net::Gradients::kOfSamples,
               [&](std::size_t first, std::size_t size) {
                 begin_back(size, 1.0);
                 net_.back_signals(size);
                 for (std::size_t n = 0; n < size; ++n) {
                   net_.sample_gradient(n, alone_.data());
                   net_.store_gradients(alone_.data(), out[first + n], 1.0F);
                 }
               });
    return {};
  }

  Result<EvaluationSums> evaluate(const Dataset& data, std::span<const std::uint32_t> indices,
                                  const Preprocess& preprocess) override {
    EvaluationSums sums;
    each_batch(data, indices, preprocess, Net::Gradients::kNone,
               [&](std::size_t, std::size_t size) {
                 for (std::size_t n = 0; n < size; ++n) {
                   const std::span<const float> scores = net_.scores(n);
                   const auto label = static_cast<std::size_t>(labels_[n]);
                   const auto best = std::ranges::max_element(scores) - scores.begin();
                   sums.correct += static_cast<std::size_t>(best) == label ? 1 : 0;
                   sums.loss += net_.loss(n, label);
                   ++sums.samples;
                 }
               });
    return sums;
  }

  Result<void> features(const Dataset& data, std::span<const std::uint32_t> indices,
                        const Preprocess& preprocess, FeatureLayer layer,
                        std::span<float> out) override {
    if (indices.empty()) return {};
    const bool is_scores = layer == FeatureLayer::kScores;
    const std::size_t each = out.size() / indices.size();
    const std::size_t here = is_scores ? net_.scores(0).size() : flattened_;
    if (here == 0) {
      return fail(ErrorKind::kUsage, "this network has no flattening layer to take features of");
    }
    if (each != here) {
      return fail(ErrorKind::kInternal, "features: " + std::to_string(here) + " values a sample, " +
                                            std::to_string(each) + " expected");
    }
    each_batch(data, indices, preprocess, Net::Gradients::kNone,
               [&](std::size_t first, std::size_t size) {
                 for (std::size_t n = 0; n < size; ++n) {
                   const std::span<float> to = out.subspan((first + n) * each, each);
                   if (is_scores) {
                     std::ranges::copy(net_.scores(n), to.begin());
                   } else {
                     net_.features(n, to);
                   }
                 }
               });
    return {};
  }

 private:
  void begin_steps(const TrainOptions& options) {
    steps_.begin(options, net_.weights().size());
    if (!start_.empty()) steps_.restore(start_, net_.places());
    start_.clear();
    has_trained_ = true;
  }

  /// Samples of the batch from the `at`-th on.
  void read(const Dataset& data, std::span<const std::uint32_t> indices,
            const Preprocess& preprocess, BitSource* augment, std::size_t at = 0) {
    const std::size_t end = at + indices.size();
    if (labels_.size() < end) labels_.resize(end);
    if (pixels_.size() < indices.size() * values_) pixels_.resize(indices.size() * values_);
    fill_batch(data, indices, preprocess, augment,
               std::span(pixels_).first(indices.size() * values_),
               std::span(labels_).subspan(at, indices.size()));
    for (std::size_t n = at; n < end; ++n) net_.put(n, pixels_.data() + (n - at) * values_);
  }
  void begin_back(std::size_t size, double share) {
    for (std::size_t n = 0; n < size; ++n) {
      net_.begin_back(n, static_cast<std::size_t>(labels_[n]), share);
    }
  }

  /// Runs the samples through the network in evaluation mode and hands on batch after batch.
  template <class Function>
  void each_batch(const Dataset& data, std::span<const std::uint32_t> indices,
                  const Preprocess& preprocess, Net::Gradients wanted, const Function& function) {
    const std::size_t usual = wanted == Net::Gradients::kOfSamples ? kWrittenTogether : kTogether;
    const std::size_t most =
        batch_statistics_ ? statistics_batch(output_shape(data, preprocess)) : usual;
    const std::size_t together = std::min(most, indices.size());
    net_.reserve(together, wanted);
    for (std::size_t first = 0; first < indices.size(); first += together) {
      const std::size_t size = std::min(together, indices.size() - first);
      read(data, indices.subspan(first, size), preprocess, nullptr);
      net_.forward(size, batch_statistics_ ? Pass::kBatchStatistics : Pass::kEvaluate, nullptr);
      function(first, size);
    }
  }

  /// DP-SGD. Samples go through the network together, but no element of any product depends on the
  /// other samples, to the last bit: each has the gradient that it would have on its own, which is
  /// what clipping needs.
  Result<void> train_privately(const Dataset& data, std::span<const std::uint32_t> indices,
                               const Preprocess& preprocess, const TrainOptions& options,
                               BitSource& bits, BitSource* augment) {
    SOTTO_CHECK(check_private(layout_));
    const Lots lots = lots_of(options, indices.size());
    const std::size_t size = net_.weights().size();
    const Products products =
        net_.products_from() < size ? products_of(lots, size, options.clip, kTogether) : Products{};
    const std::size_t together = products.group > 0 ? products.group : kTogether;
    net_.reserve(together, Net::Gradients::kOfSamples);
    private_step_.begin(size, options, net_.places(), products);
    const std::span<float> noisy(net_.gradients().data(), size);
    for (std::uint64_t i = 0; i < lots.steps; ++i) {
      std::size_t waiting = 0;
      std::size_t done = 0;
      bool has_product = false;
      const auto clip_all = [&] {
        if (augment == nullptr) {
          read(data, std::span(chosen_).first(waiting), preprocess, nullptr);
        }
        net_.forward(waiting, Pass::kTrain, nullptr);
        begin_back(waiting, 1.0);
        net_.back_signals(waiting);
        if (done + waiting <= products.most) {
          if (has_product) private_step_.add_product(noisy, net_.products_from());
          add_clipped_product(waiting);
          has_product = true;
        } else {
          add_written(waiting);
        }
        done += waiting;
        waiting = 0;
      };
      for (const std::uint32_t index : indices) {
        if (bits.below(lots.samples) >= lots.size) continue;
        chosen_[waiting] = index;
        // What is drawn for a sample is drawn before the next one is chosen.
        if (augment != nullptr) read(data, std::span(&index, 1), preprocess, augment, waiting);
        net_.draw_dropout(waiting, bits);
        if (++waiting == together) clip_all();
      }
      if (waiting > 0) clip_all();
      private_step_.finish(bits, static_cast<double>(lots.size), noisy,
                           has_product ? net_.products_from() : size);
      steps_.step(net_.weights().data(), net_.gradients().data());
    }
    return {};
  }

  void reserve_one() {
    if (alone_.size() == 0) alone_ = Floats(padded(net_.weights().size()));
  }

  /// Every sample's gradient as a whole.
  void add_written(std::size_t count) {
    reserve_one();
    for (std::size_t n = 0; n < count; ++n) {
      net_.sample_gradient(n, alone_.data());
      private_step_.add({alone_.data(), alone_.size()});
    }
  }

  /// Gradients of linear layers as one product, after each sample's signals are scaled; those of
  /// the other layers, which are small, as a whole.
  void add_clipped_product(std::size_t count) {
    const std::size_t written = net_.products_from();
    if (written_.size() < padded(written)) written_ = Floats(padded(written));
    const std::span<const float> first(written_.data(), written);
    for (std::size_t n = 0; n < count; ++n) {
      net_.written_gradient(n, written_.data());
      const double square =
          written == 0 ? 0.0 : dot(written_.data(), written_.data(), padded(written)).value();
      const double factor = private_step_.factor(square + net_.product_square(n));
      if (factor != 1.0) {
        net_.scale_signals(n, static_cast<float>(factor));
        // What goes into the product is known now, to the last bit: this is what is promised of it.
        if (factor == 0.0 ||
            !private_step_.fits(factor * factor * square + net_.product_square(n))) {
          net_.drop_sample(n);
          continue;
        }
      }
      private_step_.add_written(first, factor);
    }
    net_.add_products(count);
  }

  Layout layout_;
  std::size_t flattened_;
  Net net_;
  Steps steps_;
  bool has_trained_ = false;
  bool batch_statistics_ = false;
  std::vector<float> start_;  // where the next optimizer starts; empty: afresh
  std::vector<std::uint32_t> order_;
  std::size_t values_;         // of a sample
  std::vector<float> pixels_;  // of a batch, as fill_batch writes them
  std::vector<std::int64_t> labels_;
  std::array<std::uint32_t, kTogether> chosen_{};  // samples of a lot that go together
  PrivateStep private_step_;
  Floats alone_;    // the gradient of one sample
  Floats written_;  // its first part
};

}  // namespace

std::unique_ptr<Trainer> make_sequential_trainer(const Network& network) {
  return std::make_unique<SequentialTrainer>(network);
}

}  // namespace sotto::native
