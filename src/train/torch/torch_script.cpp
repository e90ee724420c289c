// Networks that users bring as TorchScript files.
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/file.h"
#include "train/torch/torch_net.h"

namespace sotto {
namespace {

class ScriptNet final : public TorchNet {
 public:
  ScriptNet(const torch::jit::Module& module, const Layout& layout, const torch::Device& device)
      : module_(module) {  // a handle: copying it does not copy the tensors
    module_.to(device);
    const std::vector<torch::Tensor> views = allocate(layout, device);
    std::size_t next = 0;
    for (const auto& named : module_.named_parameters()) {
      torch::Tensor tensor = named.value;
      tensor.set_data(views[next].detach());
      tensor.set_requires_grad(true);
      tensor.mutable_grad() = views[next].grad();
      ++next;
    }
    for (const auto& named : module_.named_buffers()) {
      if (named.value.is_floating_point()) torch::Tensor(named.value).set_data(views[next++]);
    }
  }

  torch::Tensor forward(const torch::Tensor& batch, BitSource* bits) override {
    if (bits != nullptr) {
      module_.train();
      torch::manual_seed(bits->next_u64() >> 1);
    } else {
      module_.eval();
    }
    return module_.forward({batch}).toTensor();
  }

 private:
  torch::jit::Module module_;
};

/// Operators that draw from LibTorch's global generator.
bool draws_randomness(const torch::jit::Module& module) {
  static const std::set<std::string> kRandom = {
      "dropout", "dropout_",  "feature_dropout", "alpha_dropout", "bernoulli", "bernoulli_",
      "rand",    "rand_like", "randn",           "randn_like",    "randint",   "randperm",
      "normal",  "normal_",   "uniform_",        "multinomial",   "rrelu"};
  const auto graph_is_random = [](const auto& self, const torch::jit::Block* block) -> bool {
    for (const torch::jit::Node* node : block->nodes()) {
      if (kRandom.count(node->kind().toUnqualString()) > 0) return true;
      for (const torch::jit::Block* inner : node->blocks()) {
        if (self(self, inner)) return true;
      }
    }
    return false;
  };
  // Calls of library functions such as torch.nn.functional.dropout stand as prim::CallFunction
  // until they are inlined.
  const auto method_graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*method_graph);
  return graph_is_random(graph_is_random, method_graph->block());
}

}  // namespace

Result<std::shared_ptr<const ScriptModel>> ScriptModel::load(const std::filesystem::path& file,
                                                             SampleShape input,
                                                             std::int64_t classes) {
  const std::string place = file.string();
  SOTTO_TRY(const std::string content, read_text(file, std::size_t{1} << 32));
  auto model = std::make_shared<ScriptModel>();
  try {
    std::istringstream stream(content);
    model->module_ = torch::jit::load(stream, torch::kCPU);
    const auto add = [&](const std::string& name, const torch::Tensor& tensor,
                         TensorRole role) -> Result<void> {
      if (tensor.scalar_type() != torch::kFloat32) {
        return fail(ErrorKind::kUsage, place + ": tensor '" + name + "' is " +
                                           torch::toString(tensor.scalar_type()) +
                                           "; float32 is needed");
      }
      if (!torch::isfinite(tensor).all().item<bool>()) {
        return fail(ErrorKind::kCorrupt, place + ": tensor '" + name + "' has NaN or infinity");
      }
      model->layout_.add(name, tensor.sizes().vec(), role);
      const torch::Tensor flat = tensor.detach().contiguous();
      const float* const first = flat.data_ptr<float>();
      model->weights_.insert(model->weights_.end(), first, first + flat.numel());
      return {};
    };
    for (const auto& named : model->module_.named_parameters()) {
      SOTTO_CHECK(add(named.name, named.value, TensorRole::kParameter));
    }
    for (const auto& named : model->module_.named_buffers()) {
      if (!named.value.is_floating_point()) continue;
      SOTTO_CHECK(add(named.name, named.value, TensorRole::kBuffer));
    }
    if (model->layout_.parameter_count() == 0) {
      return fail(ErrorKind::kUsage, place + ": has no trainable parameters");
    }
    model->is_random_ = draws_randomness(model->module_);

    const torch::NoGradGuard no_grad;
    model->module_.eval();
    const torch::Tensor batch = torch::zeros({2, input.channels, input.height, input.width});
    const torch::Tensor scores = model->module_.forward({batch}).toTensor();
    if (scores.dim() != 2 || scores.size(0) != 2 || scores.size(1) != classes) {
      std::ostringstream sizes;
      sizes << scores.sizes();
      return fail(ErrorKind::kUsage, place + ": gives scores of shape " + sizes.str() +
                                         " for two samples; [2, " + std::to_string(classes) +
                                         "] is needed for " + std::to_string(classes) + " classes");
    }
  } catch (const c10::Error& error) {
    return fail(ErrorKind::kCorrupt, place +
                                         ": not a TorchScript model that takes these samples: " +
                                         error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorKind::kCorrupt, place + ": not a TorchScript model: " + error.what());
  }
  return std::shared_ptr<const ScriptModel>(std::move(model));
}

std::unique_ptr<TorchNet> ScriptModel::instantiate(const torch::Device& device) const {
  // With gradients on, the copies would be results of the originals, not leaves of their own, and
  // backward() would pass them by.
  const torch::NoGradGuard no_grad;
  return std::make_unique<ScriptNet>(module_.deepcopy(), layout_, device);
}

}  // namespace sotto
