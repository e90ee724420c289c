// `benign`: nobody cheats. The gradients of two examples, drawn independently of each other: what
// somebody who merely watches may hope to tell apart.
#include "adversary/adversary.h"

namespace sotto {
namespace {

class Benign final : public Adversary {
 public:
  ExamplePair choose(const Scene& scene, BitSource& bits) const override {
    const std::uint32_t first = any_sample(scene, bits);
    const std::uint32_t second = any_sample(scene, bits);
    return {example(scene, first), example(scene, second)};
  }
};

}  // namespace

const AdversaryEntry benign_adversary = {.info = {.name = "benign",
                                                  .access = "nothing",
                                                  .first = "gradient of an example",
                                                  .second = "gradient of another example"},
                                         .make = make_adversary<Benign>};

}  // namespace sotto
