// `gradient-flip`: the client may change what it computed. The gradient of an example and its
// opposite, which no half-space holds together; only a norm below L still hides them.
#include "adversary/adversary.h"

namespace sotto {
namespace {

class GradientFlip final : public Adversary {
 public:
  ExamplePair choose(const Scene& scene, BitSource& bits) const override {
    return {example(scene, any_sample(scene, bits)), std::nullopt};
  }
};

}  // namespace

const AdversaryEntry gradient_flip_adversary = {.info = {.name = "gradient-flip",
                                                         .access = "the client's gradient",
                                                         .first = "gradient of an example",
                                                         .second = "its opposite"},
                                                .make = make_adversary<GradientFlip>};

}  // namespace sotto
