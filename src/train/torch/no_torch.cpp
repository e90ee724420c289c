// In a build without LibTorch: what would be found in its module says that it is not there.
#include "train/torch/torch_module.h"

namespace sotto {
namespace {

Error absent(const char* what) {
  return {ErrorKind::kUsage, std::string("this program was built without LibTorch, which ") + what +
                                 "; build it with -DSOTTO_TORCH=ON (./bootstrap build)"};
}

}  // namespace

Result<std::filesystem::path> find_torch_module() { return tl::unexpected(absent("this needs")); }

Result<std::shared_ptr<const TrainerFactory>> make_torch_factory(const TrainerRequest&) {
  return tl::unexpected(absent("trains this model"));
}

Result<std::unique_ptr<PlainLoop>> make_plain_loop(const Network&, const Dataset&,
                                                   const Preprocess&, const TrainOptions&) {
  return tl::unexpected(absent("is what this measures against"));
}

Result<DeviceTimes> measure_on_device(std::shared_ptr<const Mechanism>, std::span<const float>,
                                      unsigned) {
  return tl::unexpected(absent("holds the kernels for a GPU"));
}

}  // namespace sotto
