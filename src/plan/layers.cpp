#include "plan/layers.h"

#include <algorithm>

namespace sotto {

std::vector<LayerTensors> layers_of(const Layout& layout, const std::vector<std::size_t>& sent) {
  std::vector<LayerTensors> layers;
  bool begins = true;
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    const TensorSpec& tensor = layout.tensors()[i];
    begins |= tensor.shape.size() > 1;
    if (std::find(sent.begin(), sent.end(), i) == sent.end()) continue;
    if (begins || layers.empty()) layers.emplace_back();
    begins = false;
    layers.back().tensors.push_back(i);
    layers.back().weights += tensor.size;
  }
  return layers;
}

}  // namespace sotto
