// `gradient-flip`: the client may change what it computed. The gradient of an example and its
// opposite, which no half-space holds together; only a norm below L still hides them.
#include "audit/adversary.h"

namespace sotto {
namespace {

class GradientFlip final : public Adversary {
 public:
  Result<void> craft(const Scene& scene, Trainer* trainer, BitSource& bits,
                     GradientPair& out) const override {
    out.second.clear();
    return example_gradient(scene, *trainer, single(*scene.data, any_sample(scene, bits)),
                            out.first);
  }
};

}  // namespace

const AdversaryEntry gradient_flip_adversary = {.info = {.name = "gradient-flip",
                                                         .access = "the client's gradient",
                                                         .first = "gradient of an example",
                                                         .second = "its opposite"},
                                                .make = make_adversary<GradientFlip>};

}  // namespace sotto
