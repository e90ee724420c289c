// Which of the native engine's trainers serves a request.
#include <limits>

#include "network/safetensors.h"
#include "sotto/native.h"
#include "train/native/shapes.h"
#include "train/native/trainers.h"

namespace sotto {
namespace {

class NativeFactory final : public TrainerFactory {
 public:
  NativeFactory(TrainerRequest request, bool one_layer, EngineMaker saver)
      : request_(std::move(request)),
        layout_(request_.network.layout()),
        one_layer_(one_layer),
        saver_(std::move(saver)) {}

  Result<std::unique_ptr<Trainer>> make() const override {
    return one_layer_ ? native::make_linear_trainer(request_.network)
                      : native::make_sequential_trainer(request_.network);
  }
  const Layout& layout() const noexcept override { return layout_; }
  std::vector<float> initial_weights(std::uint64_t seed) const override {
    BitSource bits = BitSource::from_seed(seed, "initialise");
    return request_.network.initialise(bits);
  }
  unsigned parallelism() const noexcept override { return std::numeric_limits<unsigned>::max(); }
  Result<void> save(std::span<const float> weights,
                    const std::filesystem::path& path) const override {
    if (!saver_) {
      auto place = path;
      return write_safetensors(place.replace_extension(".safetensors"), layout_, weights);
    }
    SOTTO_TRY(const auto saver, saver_(request_));
    return saver->save(weights, path);
  }
  bool trains_privately() const noexcept override { return !one_layer_; }
  std::string device() const override { return "cpu"; }
  std::string version() const override { return "native, CPU"; }

 private:
  TrainerRequest request_;
  Layout layout_;
  bool one_layer_;
  EngineMaker saver_;
};

}  // namespace

bool trains_natively(const TrainerRequest& request) {
  return request.file.empty() && request.device == "cpu" && native::can_chain(request.network);
}

Result<std::shared_ptr<const TrainerFactory>> make_native_factory(const TrainerRequest& request,
                                                                  EngineMaker saver) {
  if (!trains_natively(request)) {
    return fail(ErrorKind::kUsage,
                "train.engine = \"native\" trains Sotto's own networks, on the cpu; this is " +
                    (request.file.empty() ? request.network.describe() : request.file.string()) +
                    " on " + request.device);
  }
  const bool one_layer = request.gradients && is_linear(request.network);
  return std::make_shared<const NativeFactory>(request, one_layer, std::move(saver));
}

Result<std::shared_ptr<const TrainerFactory>> choose_engine(const TrainerRequest& request,
                                                            const EngineMaker& torch) {
  const bool wants_native = request.engine == Engine::kNative ||
                            (request.engine == Engine::kAuto && trains_natively(request));
  if (!wants_native && !torch) {
    return fail(ErrorKind::kUsage,
                "this program was built without LibTorch (SOTTO_TORCH=OFF) and trains Sotto's own "
                "networks on the cpu only (train.engine = \"native\"); ./bootstrap build makes one "
                "with it");
  }
  return wants_native ? make_native_factory(request, torch) : torch(request);
}

}  // namespace sotto
