// SGD, Adam and RMSprop over one flat vector of weights, by PyTorch's formulas and defaults.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sotto/trainer.h"
#include "train/native/shapes.h"

namespace sotto::native {

class Steps {
 public:
  /// Starts afresh for `count` weights (a multiple of kGroup). Allocates only when it must hold
  /// more moments than ever before.
  void begin(const TrainOptions& options, std::size_t count);
  void step(float* weights, const float* gradients);
  /// Counts a step that somebody else takes, weight by weight; none but for SGD.
  std::optional<Sgd> begin_sgd();
  /// Of SGD with momentum; else null.
  float* velocity() const { return has_first_ ? first_.data() : nullptr; }

  /// Steps so far and the moments, one after the other and in the order of the layout, as the
  /// LibTorch engine writes them; `places` says where the layout's parameters lie.
  std::vector<float> state(std::span<const std::uint32_t> places) const;
  /// Takes nothing but a state of the right length.
  void restore(std::span<const float> state, std::span<const std::uint32_t> places);

 private:
  double next_rate();

  Optimizer optimizer_ = Optimizer::kSgd;
  double rate_ = 0.0, rate_decay_ = 0.0, momentum_ = 0.0, weight_decay_ = 0.0;
  std::size_t count_ = 0;
  bool has_first_ = false, has_second_ = false;
  Floats first_;   // momentum, or Adam's first moment
  Floats second_;  // Adam's and RMSprop's second moment
  std::int64_t steps_ = 0;
};

}  // namespace sotto::native
