#include "train/torch/torch_gradients.h"

#include <algorithm>

#include "train/torch/torch_net.h"

namespace sotto {

bool LinearGradients::takes(const Network& network) {
  const auto weighs = [](const Layer& layer) { return layer.kind != LayerKind::kFlatten; };
  return std::ranges::count_if(network.layers, weighs) == 1 &&
         std::ranges::find_if(network.layers, weighs)->kind == LayerKind::kLinear;
}

LinearGradients::LinearGradients(const Network& network, const TorchSamples& samples,
                                 const torch::Device& device)
    : samples_(samples),
      device_(device),
      inputs_(static_cast<std::int64_t>(network.input.size())),
      classes_(network.classes) {}

void LinearGradients::compute(std::span<const float> model, std::span<const std::uint32_t> samples,
                              std::int64_t clients, std::int64_t each) {
  const torch::NoGradGuard no_grad;
  if (each == 0) {  // nothing was learned
    const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device_);
    weights_ = torch::zeros({clients, classes_ * inputs_}, options);
    biases_ = torch::zeros({clients, classes_}, options);
    return;
  }
  const torch::Tensor at = as_tensor(model).to(device_);
  const torch::Tensor weight = at.narrow(0, 0, classes_ * inputs_).view({classes_, inputs_});
  const torch::Tensor bias = at.narrow(0, classes_ * inputs_, classes_);
  const TorchSamples::Rows rows = samples_.rows(samples);
  if (at.numel() > weight.numel() + classes_) {
    // In place, for these rows are copies of the samples.
    const torch::Tensor change = at.narrow(0, weight.numel() + classes_, 2 * inputs_);
    rows.values.sub_(change.narrow(0, 0, inputs_)).mul_(change.narrow(0, inputs_, inputs_));
  }
  const std::int64_t of_client = each * samples_.views();
  torch::Tensor off = torch::softmax(torch::addmm(bias, rows.values, weight.t()), 1);
  const torch::Tensor labels = rows.labels.unsqueeze(1);
  off.scatter_add_(1, labels, torch::full_like(labels, -1, off.options()));
  off.mul_(1.0 / static_cast<double>(of_client));
  const torch::Tensor by_client = off.view({clients, of_client, classes_});
  weights_ = torch::bmm(by_client.transpose(1, 2), rows.values.view({clients, of_client, inputs_}))
                 .flatten(1)
                 .contiguous();
  biases_ = by_client.sum(1).contiguous();
}

}  // namespace sotto
