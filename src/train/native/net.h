// A network that runs forward and back in buffers that are made once.
//
// Nothing is allocated for a batch that is no larger than one before it.
#pragma once

#include <span>

#include "sotto/bits.h"
#include "sotto/layout.h"
#include "train/native/kernels.h"
#include "train/native/shapes.h"

namespace sotto::native {

enum class Pass {
  kTrain,            // batch norm by the batch and keeps track, dropout drops
  kEvaluate,         // batch norm by its stored statistics
  kBatchStatistics,  // batch norm by the batch, which it forgets
};

class Net {
 public:
  explicit Net(const Network& network);

  // Weights in the order of the network's layout.
  void load(std::span<const float> weights);
  void store(std::span<float> weights) const;
  /// The gradients times `factor` in the places of the parameters, zeros in those of the buffers.
  void store_gradients(std::span<float> out, float factor) const {
    store_gradients(gradients_.data(), out, factor);
  }
  /// The same for gradients in the engine's own order.
  void store_gradients(const float* from, std::span<float> out, float factor) const;

  /// Parameters and gradients in the engine's own order, filled up with zeros.
  const Floats& weights() const { return weights_; }
  const Floats& gradients() const { return gradients_; }
  /// For each of the layout's parameters, where it lies in these.
  std::span<const std::uint32_t> places() const { return chain_.parameter_places; }

  /// Makes place for a batch of so many samples, and for the backward pass: of the batch as a
  /// whole, or of single samples too.
  enum class Gradients { kNone, kOfBatch, kOfSamples };
  void reserve(std::size_t batch, Gradients wanted);
  /// Sample `at` of the batch: channels, then lines, then pixels.
  void put(std::size_t at, const float* sample);
  /// Draws what dropout keeps of sample `at`, layer after layer.
  void draw_dropout(std::size_t at, BitSource& bits);
  /// `bits` feeds dropout; null: as draw_dropout left it.
  void forward(std::size_t batch, Pass pass, BitSource* bits);
  /// The scores of sample `at`.
  std::span<const float> scores(std::size_t at) const;
  /// What the first flattening layer made of sample `at`, in the layout's order.
  void features(std::size_t at, std::span<float> out) const;

  /// -ln of the likelihood that the scores of sample `at` give its label.
  double loss(std::size_t at, std::size_t label) const;
  /// Seeds the backward pass with dLoss/dScores of sample `at`, times `share`.
  void begin_back(std::size_t at, std::size_t label, double share);
  /// Signals to all layers and, unless told otherwise, the parameters' gradients, summed over the
  /// batch, added to what is there or instead of it.
  void back(std::size_t batch, bool add);
  void back_signals(std::size_t batch);
  /// The same, and a step of SGD with these gradients. Those of linear layers move the weights
  /// while they are in registers, and gradients() does not have them.
  void back_and_step(std::size_t batch, const Sgd& step, float* velocity);
  /// After back_signals: the gradient of sample `at` alone, weights().size() elements. It is that
  /// only if the pass forward did not normalise by the batch's statistics.
  void sample_gradient(std::size_t at, float* out) const;

  // Gradients of single samples without writing those of linear layers out: the gradient of such a
  // layer is the product of its input and the signal at its output. All after back_signals.

  /// Where the linear layers' parameters begin, which then are all that follow; the number of all
  /// parameters where something else stands between linear layers.
  std::size_t products_from() const;
  /// What sample_gradient writes before products_from().
  void written_gradient(std::size_t at, float* out) const;
  /// The squared norm of sample `at`'s gradient from products_from() on.
  double product_square(std::size_t at) const;
  /// Multiplies the signals that the linear layers' gradients are made of.
  void scale_signals(std::size_t at, float factor);
  /// Leaves nothing of sample `at` in these gradients, not even what is not finite.
  void drop_sample(std::size_t at);
  /// The sum of the first `batch` samples' gradients into gradients(), from products_from() on.
  void add_products(std::size_t batch);

 private:
  /// Calls visit(place in the layout, place in the engine's order) for a tensor's elements, in
  /// squares, line by line of the engine's or (not kInto) of the layout's order.
  template <bool kInto, class Visit>
  static void each_element(const TensorSpec& tensor, const Matrix& matrix,
                           const std::uint32_t* places, const Visit& visit);
  /// For all parameters, and for all statistics.
  template <bool kInto, class Visit, class Statistics>
  void each_weight(const Visit& visit, const Statistics& statistics) const;

  // Sample `n` through operation i.
  void run(std::size_t i, std::size_t n);
  /// Before the samples of a pass: makes ready what a convolution needs of the weights.
  void begin_convolve(std::size_t i);
  void convolve(std::size_t i, std::size_t n);
  void normalise_sample(std::size_t i, std::size_t n);
  void normalise_groups(std::size_t i, std::size_t n);
  void pool_image(std::size_t i, std::size_t n);
  void draw(std::size_t i, std::size_t at, BitSource& bits);
  // The whole batch.
  void multiply_features(std::size_t i, std::size_t batch);
  /// Batch norm: what a sample adds to the batch's statistics, and what is made of them.
  void gather_statistics(std::size_t i, std::size_t n);
  void begin_normalise(std::size_t i, std::size_t batch, Pass pass);
  /// The shape of operation i, a pool, on its way forth and back.
  Pooling pooling(std::size_t i) const;

  /// The backward pass: where gradients go (null: nowhere), whether they are added to what is
  /// there, and the step that the weights take at once, if any.
  struct Back {
    float* gradients = nullptr;
    bool add = false;
    const Sgd* step = nullptr;
    float* velocity = nullptr;
  };
  void run_back(std::size_t batch, const Back& back);
  /// Whether the gradients of flow i are used up before the next sample comes, where they are
  /// summed: then one place, which stays near, serves all samples.
  bool shares_gradients(std::size_t i) const;
  void run_back(std::size_t i, std::size_t n, const Back& back);
  /// Stops what the operation's ReLU stops.
  void mask_back(std::size_t i, std::size_t n);
  void turn_filters(std::size_t i);
  void convolve_back(std::size_t i, std::size_t n);
  void linear_back(std::size_t i, std::size_t batch, const Back& back);
  void multiply_features_back(std::size_t i, std::size_t batch);
  void gather_norm_sums(std::size_t i, std::size_t n);
  void begin_normalise_back(std::size_t i, std::size_t batch, const Back& back);
  void normalise_sample_back(std::size_t i, std::size_t n);
  void normalise_groups_back(std::size_t i, std::size_t n, const Back& back);
  /// The step of an operation's parameters [first, first + count), by their gradients.
  void step_range(std::size_t first, std::size_t count, const Back& back);
  /// What sample `at` adds to the gradients of a norm's scale and shift.
  void add_norm_sums(std::size_t i, std::size_t at, const float* mean, const float* inverse,
                     float* scale_sums, float* shift_sums) const;

  /// Parameters of a convolution from sample n: added to what is there, or instead of it if this is
  /// the first one. They are complete after finish_filters: by tiles, filters are summed elsewhere.
  void weigh_filters(std::size_t i, std::size_t n, float* gradients, bool add, bool first) const;
  void finish_filters(std::size_t i, float* gradients, bool add) const;
  /// Parameters of a linear layer from samples [first, first + count).
  void weigh_features(std::size_t i, std::size_t first, std::size_t count, const Back& back) const;
  /// Parameters of any layer from sample `at` alone.
  void weigh_sample(std::size_t i, std::size_t at, float* out) const;

  Chain chain_;
  Layout layout_;
  Floats weights_, gradients_, statistics_;
  Floats tile_workspace_;                  // of convolutions by tiles, one image at a time
  Floats turned_signals_, turned_inputs_;  // of linear layers, in the backward pass
  std::size_t capacity_ = 0;
};

}  // namespace sotto::native
