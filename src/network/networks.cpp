// The networks that Sotto knows by name: those of the published systems, with exactly their
// parameter counts, and two plain ones. A new one is a function and a line in kNetworks.
#include <algorithm>
#include <charconv>
#include <functional>

#include "base/nearest.h"
#include "base/text.h"
#include "sotto/network.h"

namespace sotto {
namespace {

/// Builds a list layer by layer and keeps track of the shape that flows through it.
class Builder {
 public:
  Builder(std::string name, SampleShape input) {
    network_.name = std::move(name);
    network_.input = input;
    channels_ = input.channels;
    height_ = input.height;
    width_ = input.width;
  }

  Builder& conv(std::int64_t out, std::int64_t kernel, std::int64_t padding) {
    network_.layers.push_back({.kind = LayerKind::kConv,
                               .in = channels_,
                               .out = out,
                               .kernel = kernel,
                               .padding = padding});
    channels_ = out;
    height_ += 2 * padding - kernel + 1;
    width_ += 2 * padding - kernel + 1;
    smallest_ = std::min({smallest_, height_, width_});
    return *this;
  }
  Builder& batch_norm() {
    network_.layers.push_back({.kind = LayerKind::kBatchNorm, .out = channels_, .spatial = !flat_});
    return *this;
  }
  Builder& group_norm(std::int64_t groups) {
    network_.layers.push_back({.kind = LayerKind::kGroupNorm, .out = channels_, .groups = groups});
    return *this;
  }
  Builder& relu() {
    network_.layers.push_back({.kind = LayerKind::kRelu});
    return *this;
  }
  Builder& pool() {
    network_.layers.push_back({.kind = LayerKind::kMaxPool, .kernel = 2});
    height_ /= 2;
    width_ /= 2;
    smallest_ = std::min({smallest_, height_, width_});
    return *this;
  }
  Builder& flatten() {
    network_.layers.push_back({.kind = LayerKind::kFlatten});
    channels_ = channels_ * height_ * width_;
    flat_ = true;
    return *this;
  }
  Builder& linear(std::int64_t out) {
    network_.layers.push_back({.kind = LayerKind::kLinear, .in = channels_, .out = out});
    channels_ = out;
    return *this;
  }
  Network finish() {
    network_.classes = channels_;
    return std::move(network_);
  }
  bool fits() const { return smallest_ >= 1; }

 private:
  Network network_;
  std::int64_t channels_ = 0;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t smallest_ = 1;  // height or width that any layer left
  bool flat_ = false;
};

// Srr-fl's MNIST network: 20,490 parameters at 1x28x28 and 10 classes.
void srr_mnist(Builder& net, std::int64_t classes) {
  net.conv(16, 3, 1).relu().pool().conv(32, 3, 1).relu().pool().flatten().linear(classes);
}

// Ldp-fed's Fashion-MNIST network: 29,034 parameters in layers of 448, 12,896 and 15,690.
void ldp_fed(Builder& net, std::int64_t classes) {
  net.conv(16, 5, 2).batch_norm().relu().pool();
  net.conv(32, 5, 2).batch_norm().relu().pool().flatten().linear(classes);
}

// The same without batch norm, which mixes the examples of a batch: for DP-SGD. 28,938 parameters.
void ldp_fed_nobn(Builder& net, std::int64_t classes) {
  net.conv(16, 5, 2).relu().pool().conv(32, 5, 2).relu().pool().flatten().linear(classes);
}

// The same with group norm, which normalises every example by itself: for DP-SGD. 29,034
// parameters.
void ldp_fed_gn(Builder& net, std::int64_t classes) {
  net.conv(16, 5, 2).group_norm(4).relu().pool();
  net.conv(32, 5, 2).group_norm(8).relu().pool().flatten().linear(classes);
}

// Srr-fl's CIFAR-10 network: 2,169,770 parameters.
void srr_cifar(Builder& net, std::int64_t classes) {
  for (const std::int64_t channels : {32, 64}) {
    net.conv(channels, 3, 1).batch_norm().relu().conv(channels, 3, 1).batch_norm().relu().pool();
  }
  net.flatten().linear(512).batch_norm().relu().linear(classes);
}

// Srr-fl's Medical-MNIST network: 5,611,878 parameters at 3x224x224 and 6 classes.
void srr_medical(Builder& net, std::int64_t classes) {
  net.conv(6, 3, 0).relu().pool().conv(16, 3, 0).relu().pool().flatten();
  net.linear(120).relu().linear(84).relu().linear(20).relu().linear(classes);
}

// Ldpfl's local CNNs. Their flattened features (1,024 for MNIST with valid convolutions; 2,048 and
// 1,152 with padding and a third block) are what that system encodes and randomizes. Layers stand
// where its appendix numbers them; the widths of dense layers stand in a figure that the text
// lacks, and so we have none but the last one.
void ldpfl_cnn(Builder& net, std::int64_t classes) {
  net.conv(32, 3, 0).relu().batch_norm().conv(32, 3, 0).relu().pool().batch_norm();
  net.conv(64, 3, 0).relu().batch_norm().conv(64, 3, 0).relu().pool();
  net.flatten().batch_norm().linear(classes);
}
void ldpfl_cnn_deep(Builder& net, std::int64_t classes) {
  for (const std::int64_t channels : {32, 64, 128}) {
    net.conv(channels, 3, 1).relu().batch_norm().conv(channels, 3, 1).relu().batch_norm().pool();
  }
  net.flatten().linear(classes);
}

// Ldpfl's second network, on bits. Its layers stand in a figure that the text lacks; these are
// ours.
void ldpfl_dnn(Builder& net, std::int64_t classes) {
  net.flatten().linear(256).relu().batch_norm().linear(128).relu().batch_norm().linear(classes);
}

void linear(Builder& net, std::int64_t classes) { net.flatten().linear(classes); }

struct Entry {
  NetworkInfo info;
  std::function<void(Builder&, std::int64_t)> build;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kNetworks = {
      {{"srr-mnist", "SRR-FL on MNIST", {1, 28, 28}, 10}, srr_mnist},
      {{"ldp-fed", "LDP-Fed on Fashion-MNIST", {1, 28, 28}, 10}, ldp_fed},
      {{"ldp-fed-nobn", "LDP-Fed's without batch norm, for DP-SGD", {1, 28, 28}, 10}, ldp_fed_nobn},
      {{"ldp-fed-gn", "LDP-Fed's with group norm, for DP-SGD", {1, 28, 28}, 10}, ldp_fed_gn},
      {{"srr-cifar", "SRR-FL on CIFAR-10", {3, 32, 32}, 10}, srr_cifar},
      {{"srr-medical", "SRR-FL on Medical-MNIST", {3, 224, 224}, 6}, srr_medical},
      {{"ldpfl-cnn", "LDPFL's local CNN on MNIST (1,024 features)", {1, 28, 28}, 10}, ldpfl_cnn},
      {{"ldpfl-cnn-deep", "LDPFL's local CNN on CIFAR-10 and Fashion-MNIST", {3, 32, 32}, 10},
       ldpfl_cnn_deep},
      {{"ldpfl-dnn", "LDPFL's network on randomized bits", {1, 1, 10240}, 10}, ldpfl_dnn},
      {{"linear", "softmax regression", {1, 28, 28}, 10}, linear},
  };
  return kNetworks;
}

/// Larger ones are refused before anything is allocated: a recipe may be a stranger's.
constexpr std::size_t kMostLayers = 64;
constexpr std::int64_t kMostWeights = std::int64_t{1} << 28;
constexpr std::uint64_t kMostInputs = std::uint64_t{1} << 24;

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 60;
  return name.size() <= kLongest ? std::string(name)
                                 : std::string(name.substr(0, kLongest)) + "...";
}

/// The weights of its layers, counted without making any.
Result<Network> bounded(Network network) {
  double weights = 0.0;
  for (const Layer& layer : network.layers) {
    const auto out = static_cast<double>(layer.out);
    if (layer.kind == LayerKind::kConv) {
      weights += out * static_cast<double>(layer.in * layer.kernel * layer.kernel + 1);
    } else if (layer.kind == LayerKind::kLinear) {
      weights += out * static_cast<double>(layer.in + 1);
    }
  }
  if (weights <= static_cast<double>(kMostWeights)) return network;
  return fail(ErrorKind::kUsage, "network '" + shown(network.name) + "' for inputs of " +
                                     std::to_string(network.input.size()) + " values and " +
                                     std::to_string(network.classes) +
                                     " classes: " + short_number(weights) +
                                     " weights; valid: at most " + std::to_string(kMostWeights));
}

/// "mlp(200,100)" -> {200, 100}
Result<std::vector<std::int64_t>> hidden_sizes(std::string_view name) {
  const auto wrong = [&] {
    return fail(ErrorKind::kUsage,
                "network '" + shown(name) + "': write mlp(H1,H2,...) with 1 to " +
                    std::to_string(kMostLayers) + " layer sizes from 1 to 100000");
  };
  if (!name.ends_with(')')) return wrong();
  std::string_view list = name.substr(4, name.size() - 5);
  std::vector<std::int64_t> sizes;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    std::int64_t size = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), size);
    if (code != std::errc() || end != item.data() + item.size() || size < 1 || size > 100000) {
      return wrong();
    }
    if (sizes.size() == kMostLayers) return wrong();
    sizes.push_back(size);
    if (comma == std::string_view::npos) return sizes;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const NetworkInfo> networks() {
  static const std::vector<NetworkInfo> kInfos = [] {
    std::vector<NetworkInfo> infos;
    for (const Entry& entry : entries()) infos.push_back(entry.info);
    infos.push_back(
        {"mlp(H1,...)", "hidden layers of these sizes, e.g. mlp(200)", {1, 28, 28}, 10});
    return infos;
  }();
  return kInfos;
}

Result<Network> find_network(std::string_view name, SampleShape input, std::int64_t classes) {
  if (classes < 2) return fail(ErrorKind::kUsage, "a network needs at least 2 classes");
  const double inputs = double{1} * input.channels * input.height * input.width;
  if (inputs > static_cast<double>(kMostInputs)) {
    return fail(ErrorKind::kUsage, "a network for samples of " + short_number(inputs) +
                                       " values; valid: at most " + std::to_string(kMostInputs));
  }
  Builder builder{std::string(name), input};
  if (name.starts_with("mlp(")) {
    SOTTO_TRY(const auto sizes, hidden_sizes(name));
    builder.flatten();
    for (const std::int64_t size : sizes) builder.linear(size).relu();
    return bounded(builder.linear(classes).finish());
  }
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.info.name == name) {
      entry.build(builder, classes);
      if (!builder.fits()) {
        return fail(ErrorKind::kUsage, "network '" + std::string(name) +
                                           "' needs larger images than " +
                                           std::to_string(input.height) + 'x' +
                                           std::to_string(input.width) + "; see data.resize");
      }
      return bounded(builder.finish());
    }
    names.push_back(entry.info.name);
  }
  names.emplace_back("mlp(200)");
  return fail(ErrorKind::kUsage, "unknown network '" + shown(name) + "'" +
                                     did_you_mean(shown(name), names) + "; valid: " + join(names) +
                                     ", or model.file for a TorchScript file");
}

}  // namespace sotto
