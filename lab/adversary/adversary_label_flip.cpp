// `label-flip`: the client may change its own data. The same example with its label and with a
// wrong one, drawn uniformly. With p_y the model's confidence in y, the gradient at the last layer
// is sum_y (p_y - [y = label]) h_y: a model that is sure of the right label makes the first
// gradient short and the second one long, and on two classes they point in opposite directions.
#include "adversary/adversary.h"

namespace sotto {
namespace {

class LabelFlip final : public Adversary {
 public:
  ExamplePair choose(const Scene& scene, BitSource& bits) const override {
    const std::uint32_t sample = any_sample(scene, bits);
    const std::int32_t label = scene.data->labels[sample];
    // One of the classes - 1 others, each equally likely.
    const auto others = static_cast<std::uint64_t>(scene.data->classes - 1);
    const auto step = static_cast<std::int32_t>(1 + bits.below(others));
    const std::int32_t wrong = (label + step) % scene.data->classes;
    return {{sample, label}, Example{sample, wrong}};
  }
};

}  // namespace

const AdversaryEntry label_flip_adversary = {
    .info = {.name = "label-flip",
             .access = "the client's data",
             .first = "gradient of an example",
             .second = "gradient of that example with a wrong label"},
    .make = make_adversary<LabelFlip>};

}  // namespace sotto
