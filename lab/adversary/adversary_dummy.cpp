// `dummy`: the client makes its gradient up, (l, ..., l) with norm L, and its opposite: the worst
// pair of ldp-sgd and of every mechanism on the ball whose distribution depends on the angle alone.
// It needs neither a model nor data, so it is the plain audit of a vector mechanism.
#include <cmath>

#include "adversary/adversary.h"

namespace sotto {
namespace {

class Dummy final : public Adversary {
 public:
  Result<void> craft(const Scene& scene, Trainer* /*trainer*/, BitSource& /*bits*/,
                     std::span<GradientPair> out) const override {
    const double each = scene.dummy_norm / std::sqrt(static_cast<double>(scene.dimension));
    // Up by one, so that rounding leaves nothing below the norm: what is above, bound() clips.
    const float up = std::nextafter(static_cast<float>(each), 1e38F);
    for (GradientPair& pair : out) {
      pair.first.assign(scene.dimension, up);
      pair.second.clear();
    }
    return {};
  }
  bool constant() const noexcept override { return true; }
};

}  // namespace

const AdversaryEntry dummy_adversary = {.info = {.name = "dummy",
                                                 .access = "the client's gradient",
                                                 .first = "a constant vector of norm L",
                                                 .second = "its opposite",
                                                 .needs_model = false},
                                        .make = make_adversary<Dummy>};

}  // namespace sotto
