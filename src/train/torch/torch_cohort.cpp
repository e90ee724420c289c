#include "train/torch/torch_cohort.h"

#include <algorithm>

#include "base/parallel.h"
#include "train/torch/torch_net.h"

namespace sotto {
namespace {

/// clients x batch x features, as batched products have it, from batch x (clients features) and
/// back.
torch::Tensor by_client(const torch::Tensor& x, std::int64_t clients) {
  return x.reshape({x.size(0), clients, -1}).transpose(0, 1);
}
torch::Tensor by_sample(const torch::Tensor& x) {
  return x.transpose(0, 1).reshape({x.size(1), -1});
}

/// Every client's images with its own filters, as one batch of products: libraries' grouped
/// convolutions take several times as long where groups have few channels.
torch::Tensor convolve(const torch::Tensor& x, const torch::Tensor& weight,
                       const torch::Tensor& bias, std::int64_t padding) {
  const std::int64_t clients = weight.size(0);
  const std::int64_t kernel = weight.size(3);
  const std::int64_t height = x.size(2) + 2 * padding - kernel + 1;
  const std::int64_t width = x.size(3) + 2 * padding - kernel + 1;
  const torch::Tensor columns =
      torch::im2col(x, {kernel, kernel}, {1, 1}, {padding, padding}, {1, 1})
          .view({x.size(0), clients, -1, height * width});
  return (torch::matmul(weight.flatten(2), columns) + bias.unsqueeze(2))
      .view({x.size(0), -1, height, width});
}

}  // namespace

TorchCohort::TorchCohort(const Network& network, std::size_t clients, const torch::Device& device)
    : layers_(network.layers), clients_(static_cast<std::int64_t>(clients)), device_(device) {
  const Layout layout = network.layout();
  parameter_count_ = static_cast<std::int64_t>(layout.parameter_count());
  const auto buffer_count = static_cast<std::int64_t>(layout.size()) - parameter_count_;
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  parameters_ = torch::zeros({clients_ * parameter_count_}, options);
  gradients_ = torch::zeros({clients_ * parameter_count_}, options);
  buffers_ = torch::zeros({clients_ * buffer_count}, options);
  std::int64_t next[2] = {0, 0};
  for (const TensorSpec& tensor : layout.tensors()) {
    const bool is_parameter = tensor.role == TensorRole::kParameter;
    std::int64_t& offset = next[is_parameter ? 0 : 1];
    const auto size = static_cast<std::int64_t>(tensor.size);
    places_.push_back({is_parameter, offset, size});
    offsets_.push_back(tensor.offset);
    std::vector<std::int64_t> shape = {clients_};
    shape.insert(shape.end(), tensor.shape.begin(), tensor.shape.end());
    const auto slice = [&](const torch::Tensor& flat) {
      return flat.narrow(0, clients_ * offset, clients_ * size).view(shape);
    };
    torch::Tensor view = slice(is_parameter ? parameters_ : buffers_).detach();
    if (is_parameter) {
      view.set_requires_grad(true);
      view.mutable_grad() = slice(gradients_);
    }
    tensors_.push_back(std::move(view));
    offset += size;
  }
}

torch::Tensor TorchCohort::rows(std::size_t tensor) const {
  const Place& place = places_[tensor];
  return (place.is_parameter ? parameters_ : buffers_)
      .narrow(0, clients_ * place.offset, clients_ * place.size)
      .view({clients_, place.size});
}

void TorchCohort::load(const torch::Tensor& model) {
  const torch::NoGradGuard no_grad;
  for (std::size_t t = 0; t < places_.size(); ++t) {
    rows(t).copy_(model.narrow(0, static_cast<std::int64_t>(offsets_[t]), places_[t].size)
                      .expand({clients_, places_[t].size}));
  }
}

void TorchCohort::set_buffers(std::size_t client, std::span<const float> values) {
  const torch::NoGradGuard no_grad;
  std::size_t used = 0;
  for (std::size_t t = 0; t < places_.size(); ++t) {
    if (places_[t].is_parameter) continue;
    const auto size = static_cast<std::size_t>(places_[t].size);
    rows(t)
        .select(0, static_cast<std::int64_t>(client))
        .copy_(as_tensor(values.subspan(used, size)));
    used += size;
  }
}

std::vector<float> TorchCohort::buffers(std::size_t client) const {
  std::vector<float> values;
  for (std::size_t t = 0; t < places_.size(); ++t) {
    if (places_[t].is_parameter) continue;
    const torch::Tensor row = rows(t).select(0, static_cast<std::int64_t>(client)).cpu();
    const float* const from = row.data_ptr<float>();
    values.insert(values.end(), from, from + row.numel());
  }
  return values;
}

/// A client's state is its steps and then its moments, tensor after tensor; of all clients together
/// every tensor of a moment lies as a row for each.
template <class Visit>
void TorchCohort::each_moment(std::size_t joined, const Visit& visit) const {
  const auto parameters = static_cast<std::size_t>(parameter_count_);
  for (std::size_t moment = 0; moment < (joined - 1) / clients(); moment += parameters) {
    for (const Place& place : places_) {
      if (!place.is_parameter) continue;
      const std::size_t own = moment + static_cast<std::size_t>(place.offset);
      const auto size = static_cast<std::size_t>(place.size);
      for (std::size_t c = 0; c < clients(); ++c) {
        visit(c, 1 + own, 1 + clients() * own + c * size, size);
      }
    }
  }
}

void TorchCohort::train(TorchSamples& samples, std::span<std::vector<std::uint32_t>> orders,
                        std::span<BitSource* const> bits, const TrainOptions& options,
                        std::span<const std::span<const float>> states) {
  optimizer_.emplace(options, parameters_, gradients_);
  if (!states.empty()) {
    std::vector<float> joined(1 + states.size() * (states.front().size() - 1));
    joined[0] = states.front()[0];
    each_moment(joined.size(),
                [&](std::size_t c, std::size_t own, std::size_t at, std::size_t size) {
                  std::ranges::copy(states[c].subspan(own, size),
                                    joined.begin() + static_cast<std::ptrdiff_t>(at));
                });
    optimizer_->restore(joined);
  }
  const std::size_t count = orders.front().size();
  for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    for (std::size_t c = 0; c < orders.size(); ++c) shuffle(std::span(orders[c]), *bits[c]);
    samples.begin_epoch(orders);
    for (std::size_t first = 0; first < count; first += options.batch_size) {
      const std::size_t size = std::min<std::size_t>(options.batch_size, count - first);
      const auto [x, y] = samples.batch(first, size, bits);
      const torch::Tensor scores = forward(x, bits, samples.threads());
      const torch::Tensor chosen = scores.log_softmax(2).gather(2, y.unsqueeze(2));
      (chosen.sum() * (-1.0 / static_cast<double>(size))).backward();
      optimizer_->step();
    }
    if (options.on_epoch) options.on_epoch();
  }
}

torch::Tensor TorchCohort::forward(const torch::Tensor& batch, std::span<BitSource* const> bits,
                                   unsigned threads) {
  torch::Tensor x = batch;  // batch x (clients channels) x height x width, or clients x batch x n
  std::size_t next = 0;
  const auto tensor = [&]() -> const torch::Tensor& { return tensors_[next++]; };
  /// A tensor of all clients' channels in a row.
  const auto joined = [](const torch::Tensor& rows) { return rows.flatten(0, 1); };
  for (const Layer& layer : layers_) {
    switch (layer.kind) {
      case LayerKind::kConv: {
        const torch::Tensor& weight = tensor();
        x = convolve(x, weight, tensor(), layer.padding);
        break;
      }
      case LayerKind::kLinear: {
        const torch::Tensor& weight = tensor();
        x = torch::baddbmm(tensor().unsqueeze(1), x, weight.transpose(1, 2));
        break;
      }
      case LayerKind::kBatchNorm: {
        const torch::Tensor& scale = tensor();
        const torch::Tensor& shift = tensor();
        const torch::Tensor& mean = tensor();
        const torch::Tensor& variance = tensor();
        const torch::Tensor flat = layer.spatial ? x : by_sample(x);
        const bool several = layer.spatial || flat.size(0) > 1;
        const torch::Tensor normal =
            torch::batch_norm(flat, joined(scale), joined(shift), joined(mean), joined(variance),
                              several, kBatchNormMomentum, kNormEpsilon, true);
        x = layer.spatial ? normal : by_client(normal, clients_);
        break;
      }
      case LayerKind::kRelu:
        x = torch::relu(x);
        break;
      case LayerKind::kMaxPool:
        x = torch::max_pool2d(x, layer.kernel);
        break;
      case LayerKind::kFlatten:
        x = by_client(x, clients_);
        break;
      case LayerKind::kGroupNorm: {  // of images
        const torch::Tensor& scale = tensor();
        x = torch::group_norm(x, clients_ * layer.groups, joined(scale), joined(tensor()),
                              kNormEpsilon);
        break;
      }
      case LayerKind::kDropout:
        x = x * dropout_factors(x, layer.rate, bits, threads);
        break;
    }
  }
  return x;
}

torch::Tensor TorchCohort::dropout_factors(const torch::Tensor& like, double rate,
                                           std::span<BitSource* const> bits,
                                           unsigned threads) const {
  std::vector<float> factors(static_cast<std::size_t>(like.numel()));
  const std::size_t own = factors.size() / clients();
  const Result<void> drawn =
      parallel_for(threads, clients(), [&](unsigned /*lane*/, std::size_t c) -> Result<void> {
        draw_dropout(std::span(factors).subspan(c * own, own), rate, *bits[c]);
        return {};
      });
  TORCH_CHECK(drawn.has_value(), "drawing dropout failed");
  const bool images = like.dim() == 4;  // which lie sample by sample, features client by client
  const std::int64_t samples = like.size(images ? 0 : 1);
  const torch::Tensor rows =
      torch::from_blob(factors.data(), {clients_, samples, like.numel() / clients_ / samples})
          .to(device_, /*non_blocking=*/false, /*copy=*/true);
  return (images ? rows.transpose(0, 1) : rows).reshape(like.sizes());
}

std::vector<std::vector<float>> TorchCohort::optimizer_states() const {
  std::vector<std::vector<float>> states(clients());
  if (!optimizer_) return states;
  const std::vector<float> joined = optimizer_->state();
  for (std::vector<float>& state : states) {
    state.resize(1 + (joined.size() - 1) / clients());
    state[0] = joined[0];
  }
  each_moment(joined.size(), [&](std::size_t c, std::size_t own, std::size_t at, std::size_t size) {
    std::copy_n(joined.begin() + static_cast<std::ptrdiff_t>(at), size,
                states[c].begin() + static_cast<std::ptrdiff_t>(own));
  });
  return states;
}

std::size_t activation_count(const Network& network) {
  auto channels = static_cast<std::int64_t>(network.input.channels);
  auto height = static_cast<std::int64_t>(network.input.height);
  auto width = static_cast<std::int64_t>(network.input.width);
  std::int64_t sum = channels * height * width;
  for (const Layer& layer : network.layers) {
    switch (layer.kind) {
      case LayerKind::kConv: {
        const std::int64_t columns = channels * layer.kernel * layer.kernel;
        channels = layer.out;
        height += 2 * layer.padding - layer.kernel + 1;
        width += 2 * layer.padding - layer.kernel + 1;
        sum += columns * height * width;
        break;
      }
      case LayerKind::kMaxPool:
        height /= layer.kernel;
        width /= layer.kernel;
        break;
      case LayerKind::kLinear:
        channels = layer.out;
        height = width = 1;
        break;
      default:
        break;
    }
    sum += channels * height * width;
  }
  return static_cast<std::size_t>(sum);
}

}  // namespace sotto
