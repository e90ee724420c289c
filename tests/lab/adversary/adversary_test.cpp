// The crafting phase on real examples: the embedded digits, softmax regression.
#include "adversary/adversary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "adversary/scene.h"
#include "adversary/vector_trials.h"
#include "flat_layout.h"

namespace sotto {
namespace {

Scene scene_after(std::uint64_t rounds, double learning_rate = 0.02) {
  SceneRequest request;
  request.data = "embedded";
  request.model = "linear";
  request.train_rounds = rounds;
  request.malicious_rounds = 30;
  request.learning_rate = learning_rate;
  auto scene = make_scene(request, nullptr);
  EXPECT_TRUE(scene) << scene.error().message;
  return *scene;
}

double norm_of(const std::vector<float>& values) {
  double square = 0.0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) product += static_cast<double>(a[i]) * b[i];
  return product / (norm_of(a) * norm_of(b));
}

std::unique_ptr<Mechanism> ldp_sgd(std::size_t dimension, double epsilon, double norm) {
  auto made = make_mechanism("ldp-sgd", Domain{flat_layout(dimension), {Range{0.0, 1.0}}},
                             {{"epsilon", epsilon}, {"norm", norm}});
  EXPECT_TRUE(made);
  return std::move(*made);
}

/// The share of correct guesses.
double accuracy(const AdversaryEntry& entry, Scene scene, double norm,
                Distinguisher which = Distinguisher::kCosine) {
  const auto adversary = entry.make();
  EXPECT_TRUE(adversary->prepare(scene, BitSource::from_seed(4, "prepare")));
  scene.dummy_norm = norm;
  const auto mechanism = ldp_sgd(scene.dimension, 4.0, norm);
  TrialPlan plan;
  plan.mechanisms = {mechanism.get()};
  plan.trials = 1500;
  plan.threads = 2;
  const auto counts = run_trials(scene, *adversary, plan);
  EXPECT_TRUE(counts) << counts.error().message;
  return lower_bounds(counts->total.front().of(which), 0.95).accuracy;
}

// More access, more correct guesses. L is above many examples' gradients and below those of the
// malicious model, which is where the adversaries differ.
TEST(Adversaries, AreOrderedByWhatTheyMayTouch) {
  const Scene scene = scene_after(200);
  std::vector<double> correct;
  for (const AdversaryEntry& entry : adversaries()) correct.push_back(accuracy(entry, scene, 8.0));
  for (std::size_t i = 0; i < correct.size(); ++i) {
    RecordProperty(std::string(adversaries()[i].info.name), std::to_string(correct[i]));
  }
  EXPECT_LT(correct[0] + 0.02, correct[1]);  // benign, label flip
  EXPECT_LT(correct[1] + 0.02, correct[2]);  // gradient flip
  EXPECT_LT(correct[2] + 0.02, correct[3]);  // collusion
  EXPECT_LE(correct[3], correct[4] + 0.02);  // dummy: both may reach the limit
  EXPECT_NEAR(correct[4], std::exp(4.0) / (1.0 + std::exp(4.0)), 0.015);
}

TEST(Adversaries, LabelFlipChangesTheLabelAlone) {
  const Scene scene = scene_after(200);
  const auto trainer = scene.factory->make();
  ASSERT_TRUE(trainer && (*trainer)->load(scene.weights));
  const auto adversary = label_flip_adversary.make();
  BitSource bits = BitSource::from_seed(7, "craft");
  GradientPair pair;
  double mean = 0.0;
  constexpr int kPairs = 50;
  for (int i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(adversary->craft(scene, trainer->get(), bits, std::span(&pair, 1)));
    EXPECT_EQ(pair.first.size(), scene.dimension);
    EXPECT_NE(pair.first, pair.second);
    mean += cosine(pair.first, pair.second) / kPairs;
  }
  EXPECT_LT(mean, -0.2);  // a trained model turns the gradient round
}

// Pairs that are crafted together are those that are crafted one by one, to the last bit, and they
// are the gradients of the chosen examples.
TEST(Adversaries, PairsCraftedTogetherAreThoseCraftedAlone) {
  for (const char* const model : {"linear", "mlp(12)", "srr-mnist", "ldp-fed", "ldp-fed-gn"}) {
    SceneRequest request;
    request.data = "embedded";
    request.model = model;
    request.train_rounds = 2;
    const auto scene = make_scene(request, nullptr);
    ASSERT_TRUE(scene) << scene.error().message;
    const auto trainer = scene->factory->make();
    ASSERT_TRUE(trainer && (*trainer)->load(scene->weights));
    for (const AdversaryEntry* const entry :
         {&benign_adversary, &label_flip_adversary, &gradient_flip_adversary}) {
      const auto adversary = entry->make();
      BitSource bits = BitSource::from_seed(7, "craft");
      std::vector<GradientPair> together(40);
      ASSERT_TRUE(adversary->craft(*scene, trainer->get(), bits, together));
      bits = BitSource::from_seed(7, "craft");
      BitSource again = BitSource::from_seed(7, "craft");
      for (const GradientPair& pair : together) {
        GradientPair alone;
        ASSERT_TRUE(adversary->craft(*scene, trainer->get(), bits, std::span(&alone, 1)));
        EXPECT_EQ(pair.first, alone.first) << model;
        EXPECT_EQ(pair.second, alone.second) << model;
        const ExamplePair examples = adversary->choose(*scene, again);
        std::vector<float> own(scene->dimension);
        Dataset relabelled = select(*scene->data, std::span(&examples.first.sample, 1));
        constexpr std::uint32_t kOnly = 0;
        ASSERT_TRUE((*trainer)->gradient(relabelled, std::span(&kOnly, 1), scene->preprocess, own));
        EXPECT_EQ(pair.first, own) << model;
        if (!examples.second) continue;
        relabelled = select(*scene->data, std::span(&examples.second->sample, 1));
        relabelled.labels.front() = examples.second->label;
        ASSERT_TRUE((*trainer)->gradient(relabelled, std::span(&kOnly, 1), scene->preprocess, own));
        EXPECT_EQ(pair.second, own) << model;
      }
    }
  }
}

TEST(Adversaries, CollusionMakesGradientsLong) {
  Scene scene = scene_after(200);
  const Scene before = scene;
  const auto adversary = collusion_adversary.make();
  ASSERT_TRUE(adversary->prepare(scene, BitSource::from_seed(8, "prepare")));
  EXPECT_NE(scene.weights, before.weights);
  const auto mean_norm = [](const Scene& at, const Adversary& who) {
    const auto trainer = at.factory->make();
    EXPECT_TRUE(trainer && (*trainer)->load(at.weights));
    BitSource bits = BitSource::from_seed(9, "craft");
    GradientPair pair;
    double sum = 0.0;
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(who.craft(at, trainer->get(), bits, std::span(&pair, 1)));
      EXPECT_TRUE(pair.second.empty());  // the opposite
      sum += norm_of(pair.first) / 50.0;
    }
    return sum;
  };
  const auto flip = gradient_flip_adversary.make();
  EXPECT_GT(mean_norm(scene, *adversary), 2.0 * mean_norm(before, *flip));
  // A model that knows nothing spreads its guess; one that was taught a single label is sure of it,
  // and |p - e_y| grows from almost 1 to the root of 2.
  EXPECT_GT(mean_norm(scene, *adversary), 1.2 * mean_norm(scene_after(0), *flip));
}

TEST(Adversaries, TrainingServesTheLabelFlip) {
  const Scene fresh = scene_after(0), trained = scene_after(300);
  EXPECT_GT(*training_accuracy(trained, 500), *training_accuracy(fresh, 500) + 0.3);
  EXPECT_GT(accuracy(label_flip_adversary, trained, 1.0),
            accuracy(label_flip_adversary, fresh, 1.0) + 0.03);
}

TEST(Adversaries, CountsDoNotDependOnThreads) {
  const Scene scene = scene_after(5);
  const auto mechanism = ldp_sgd(scene.dimension, 2.0, 1.0);
  std::vector<std::uint64_t> wrong;
  for (const unsigned threads : {1U, 3U}) {
    TrialPlan plan;
    plan.mechanisms = {mechanism.get()};
    plan.trials = 200;
    plan.threads = threads;
    const auto counts = run_trials(scene, *benign_adversary.make(), plan);
    ASSERT_TRUE(counts);
    wrong.push_back(counts->total.front().cosine.wrong());
    wrong.push_back(counts->total.front().likelihood.wrong());
  }
  EXPECT_EQ(wrong[0], wrong[2]);
  EXPECT_EQ(wrong[1], wrong[3]);
}

TEST(Adversaries, AModelThatCannotBeMadeIsAnError) {
  SceneRequest request;
  request.data = "embedded";
  request.model = "srr-mnist";
  request.device = "cuda";  // the native engine, which needs nobody, is the cpu's
  const auto scene = make_scene(request, nullptr);
  ASSERT_FALSE(scene);
  EXPECT_NE(scene.error().message.find("LibTorch"), std::string::npos);
}

}  // namespace
}  // namespace sotto
