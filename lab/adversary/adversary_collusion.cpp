// `collusion`: the server helps. It trains a fresh model on one label alone and hands that out, so
// that every example of another label has a large loss and a gradient longer than L; the client
// then flips that gradient. (Taught one label, a model that knows all of them soon stops moving.)
#include "adversary/adversary.h"

namespace sotto {
namespace {

class Collusion final : public Adversary {
 public:
  Result<void> prepare(Scene& scene, BitSource bits) override {
    const Dataset& data = *scene.data;
    const auto label =
        static_cast<std::int32_t>(bits.below(static_cast<std::uint64_t>(data.classes)));
    std::vector<std::uint32_t> taught;
    others_.clear();
    for (std::uint32_t i = 0; i < data.size(); ++i) {
      (data.labels[i] == label ? taught : others_).push_back(i);
    }
    if (taught.empty() || others_.empty()) {
      return fail(ErrorKind::kUsage,
                  "collusion needs examples of label " + std::to_string(label) + " and of others");
    }
    scene.weights = scene.factory->initial_weights(bits.next_u64());
    return train_rounds(scene, taught, scene.malicious_rounds, std::move(bits));
  }

  ExamplePair choose(const Scene& scene, BitSource& bits) const override {
    return {example(scene, others_[bits.below(others_.size())]), std::nullopt};
  }

 private:
  std::vector<std::uint32_t> others_;  // samples of labels that the model was not taught
};

}  // namespace

const AdversaryEntry collusion_adversary = {
    .info = {.name = "collusion",
             .access = "the client's gradient and the server's model",
             .first = "gradient of an example at a model trained on another label alone",
             .second = "its opposite"},
    .make = make_adversary<Collusion>};

}  // namespace sotto
