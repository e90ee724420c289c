// Networks as plain lists of layers, known without any tensor library.
//
// A list is what PyTorch calls nn.Sequential: the i-th layer's tensors are named "i.weight" and so
// on, so that a trained model loads into a PyTorch module built from the same list
// (`sotto models --pytorch NAME` prints it).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/bits.h"
#include "sotto/data.h"
#include "sotto/layout.h"
#include "sotto/result.h"

namespace sotto {

enum class LayerKind {
  kConv,
  kLinear,
  kBatchNorm,
  kGroupNorm,  // of images, each by itself: DP-SGD may have it
  kRelu,
  kMaxPool,
  kFlatten,
  kDropout
};

struct Layer {
  LayerKind kind;
  std::int64_t in = 0;  // channels or features
  std::int64_t out = 0;
  std::int64_t kernel = 0;   // convolution and pooling, square
  std::int64_t padding = 0;  // convolution
  double rate = 0.0;         // dropout
  std::int64_t groups = 0;   // group norm: its channels in so many groups of one size
  bool spatial = false;      // batch norm over images rather than over features
};

struct Network {
  std::string name;
  SampleShape input;
  std::int64_t classes = 0;
  std::vector<Layer> layers;

  Layout layout() const;
  /// How many values the first flattening layer yields; 0 where there is none.
  std::int64_t features() const;
  /// "conv 1->16 3x3 pad 1, relu, pool 2, ..."
  std::string describe() const;
  /// PyTorch source of the same network.
  std::string pytorch() const;
  /// PyTorch's default initialisation: uniform within 1/sqrt(fan-in); norms 1 and 0.
  std::vector<float> initialise(BitSource& bits) const;
};

struct NetworkInfo {
  std::string name;     // "srr-mnist", "mlp(H1,...)"
  std::string summary;  // where it comes from
  SampleShape input;    // that it is listed with
  std::int64_t classes;
};

/// Every network that find_network knows.
std::span<const NetworkInfo> networks();

/// The network `name` for samples of this shape and so many classes; an error where they don't fit
/// the network, or the name is unknown. `name` may be "mlp(200,100)".
Result<Network> find_network(std::string_view name, SampleShape input, std::int64_t classes);

}  // namespace sotto
