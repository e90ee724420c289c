// Who crafts the two gradients that an audit tells apart (measuring-privacy, table 2).
//
// An adversary differs from the next one in what it may touch: nothing, a label, the gradient, the
// model, everything. Its crafting phase makes a pair g1, g2; the mechanism then randomizes one of
// them, chosen by a fair coin, and the distinguishing phase (vector_trials.h) guesses which.
// A bound from such guesses holds whatever the pairs were: the inequality between the two error
// rates holds for each pair, therefore for their mean.
//
// An adversary is one file and one line in adversaries.def.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sotto/trainer.h"

namespace sotto {

/// What lies on the table when gradients are crafted.
struct Scene {
  std::shared_ptr<const TrainerFactory> factory;  // null: there is no model
  std::shared_ptr<const Dataset> data;            // null: there are no examples
  Preprocess preprocess;
  TrainOptions training;       // the server's steps; one round is one of them
  std::vector<float> weights;  // of the model that the server hands out
  std::uint64_t malicious_rounds = 100;
  std::size_t dimension = 0;  // of a gradient
  double dummy_norm = 1.0;    // of the dummy gradient
};

struct GradientPair {
  std::vector<float> first;
  std::vector<float> second;  // empty: the opposite of the first
};

/// A sample and the label that it is given.
struct Example {
  std::uint32_t sample = 0;
  std::int32_t label = 0;
};
struct ExamplePair {
  Example first;
  std::optional<Example> second;  // none: the opposite of the first one's gradient
};

class Adversary {
 public:
  virtual ~Adversary() = default;
  /// Before the first pair; whoever colludes with the server changes the model here.
  virtual Result<void> prepare(Scene& scene, BitSource bits) {
    (void)scene, (void)bits;
    return {};
  }
  /// Fills one pair after the other; what is drawn for them does not depend on how many there are.
  /// `trainer` holds the scene's weights and belongs to the caller's thread; null without a model.
  /// Unless an adversary knows better, the gradients are those of the examples that it chooses, all
  /// pairs' together.
  virtual Result<void> craft(const Scene& scene, Trainer* trainer, BitSource& bits,
                             std::span<GradientPair> out) const;
  /// The examples of the next pair.
  virtual ExamplePair choose(const Scene& scene, BitSource& bits) const {
    (void)scene, (void)bits;
    return {};
  }
  /// Whether every pair is the same, so that one serves all trials.
  virtual bool constant() const noexcept { return false; }
};

struct AdversaryInfo {
  std::string_view name;
  std::string_view access;  // what it may touch
  std::string_view first;   // the two gradients, in words
  std::string_view second;
  bool needs_model = true;
};

struct AdversaryEntry {
  AdversaryInfo info;
  std::unique_ptr<Adversary> (*make)();
};

template <class T>
std::unique_ptr<Adversary> make_adversary() {
  return std::make_unique<T>();
}

/// All of them, in the order of adversaries.def.
std::span<const AdversaryEntry> adversaries();
/// The one called `name`, or an error that lists the valid names.
Result<const AdversaryEntry*> find_adversary(std::string_view name);

/// Its place in the list: every adversary of a study has random streams of its own.
std::uint64_t stream_of(const AdversaryEntry& entry);

// ---- for the files of adversaries -------------------------------------------------------------

/// A sample with its own label.
Example example(const Scene& scene, std::uint32_t sample);
/// Takes the model so many steps further on samples drawn (with replacement) from `pool`.
Result<void> train_rounds(Scene& scene, std::span<const std::uint32_t> pool, std::uint64_t rounds,
                          BitSource bits);
/// Uniform over the samples.
std::uint32_t any_sample(const Scene& scene, BitSource& bits);

#define SOTTO_ADVERSARY(name, file) extern const AdversaryEntry file##_adversary;
#include "adversary/adversaries.def"
#undef SOTTO_ADVERSARY

}  // namespace sotto
