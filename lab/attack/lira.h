// Scores of the likelihood-ratio attack: how much better a model's confidence in a sample fits the
// models that were trained with it than those that were not.
//
// The confidence is phi = ln(p / (1 - p)) of the sample's label, which is close to normal over
// models. Online: two normal distributions are fitted, to the models with the sample and to those
// without, and the score is the logarithm of their likelihood ratio. Offline: the distribution
// without it alone, and the score is how far above its mean phi lies, in deviations. With fewer
// than kOwnVariance models on a side all samples share one variance, as a few values tell none
// (Carlini et al. 2022).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sotto {

/// phi of every model and sample, and what is known of their relation.
class Confidences {
 public:
  enum class Relation : std::uint8_t { kOut, kIn, kNeither };

  Confidences(std::size_t models, std::size_t samples)
      : samples_(samples), phi_(models * samples), relation_(models * samples, Relation::kOut) {}

  std::size_t models() const noexcept { return samples_ == 0 ? 0 : phi_.size() / samples_; }
  std::size_t samples() const noexcept { return samples_; }
  std::span<float> phi(std::size_t model) {
    return std::span(phi_).subspan(model * samples_, samples_);
  }
  std::span<const float> phi(std::size_t model) const {
    return std::span(phi_).subspan(model * samples_, samples_);
  }
  std::span<Relation> relation(std::size_t model) {
    return std::span(relation_).subspan(model * samples_, samples_);
  }
  std::span<const Relation> relation(std::size_t model) const {
    return std::span(relation_).subspan(model * samples_, samples_);
  }

 private:
  std::size_t samples_;
  std::vector<float> phi_;
  std::vector<Relation> relation_;
};

inline constexpr std::size_t kOwnVariance = 32;

/// The two distributions of every sample, from the models `shadows`.
class LikelihoodRatio {
 public:
  LikelihoodRatio(const Confidences& confidences, std::span<const std::size_t> shadows);

  /// Nothing where fewer than two models with the sample, or without it, are among the shadows.
  std::optional<double> online(std::size_t sample, double phi) const;
  std::optional<double> offline(std::size_t sample, double phi) const;

 private:
  struct NormalFit {
    std::size_t count = 0;
    double mean = 0.0;
    double squares = 0.0;  // of distances from the mean
    double variance = 1.0;
    void add(double value);
  };
  static void share_variance(std::vector<NormalFit>& fits);
  std::vector<NormalFit> in_;
  std::vector<NormalFit> out_;
};

/// ln(p / (1 - p)) of the label, from the network's outputs: its own minus the logarithm of the
/// others' sum of exponentials. Finite for every input.
float logit_of_label(std::span<const float> scores, std::int32_t label);

}  // namespace sotto
