// Layers of a model: the tensors that a schedule sends together.
//
// A layer starts with the weights of a convolution or a linear map (the first tensor with two or
// more dimensions) and takes with it all that follows up to the next one: its bias, and scale,
// shift and statistics of the norm behind it. So LDP-Fed's network has layers of 448, 12,896 and
// 15,690 parameters, as its authors count them.
#pragma once

#include <cstddef>
#include <vector>

#include "sotto/layout.h"

namespace sotto {

struct LayerTensors {
  std::vector<std::size_t> tensors;  // of the layout, ascending
  std::size_t weights = 0;           // elements of them all
};

/// The layers that are made of the tensors `sent`, from the input to the output.
std::vector<LayerTensors> layers_of(const Layout& layout, const std::vector<std::size_t>& sent);

}  // namespace sotto
