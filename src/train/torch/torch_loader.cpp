// LibTorch on demand. Loading it takes half a second, which most commands would spend for nothing:
// here the functions of sotto::train are found in a module that is loaded when one is first called.
#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "sotto/version.h"
#include "train/torch/torch_module.h"

namespace sotto {
namespace {

constexpr const char* kFile = "libsotto_torch.so";

Result<const TorchModule*> load() {
  SOTTO_TRY(const std::filesystem::path place, find_torch_module());
  void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return fail(ErrorKind::kIo, std::string("cannot load the trainer on LibTorch: ") + dlerror());
  }
  using Entry = const TorchModule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, kTorchModuleEntry));
  const TorchModule* const found = entry != nullptr ? entry() : nullptr;
  if (found == nullptr || found->version != std::string(SOTTO_VERSION)) {
    return fail(ErrorKind::kCorrupt, place.string() +
                                         " is not of this program's version, " SOTTO_VERSION
                                         ": build or install both together");
  }
  return found;
}

const Result<const TorchModule*>& torch_module() {
  static const Result<const TorchModule*> loaded = load();
  return loaded;
}

}  // namespace

Result<std::filesystem::path> find_torch_module() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return fail(ErrorKind::kIo, "cannot tell where this program is: " + error.message());
  // Beside the program in a build folder; where it is installed, in the folder of libraries.
  const std::array<fs::path, 2> places{folder / kFile, folder / SOTTO_MODULE_FOLDER / kFile};
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return place;
  }
  return fail(ErrorKind::kNotFound, "the trainer on LibTorch is missing: there is neither " +
                                        places[0].string() + " nor " +
                                        places[1].lexically_normal().string());
}

Result<std::shared_ptr<const TrainerFactory>> make_torch_factory(const TrainerRequest& request) {
  SOTTO_TRY(const TorchModule* const found, torch_module());
  return found->make_factory(request);
}

Result<std::unique_ptr<PlainLoop>> make_plain_loop(const Network& network, const Dataset& data,
                                                   const Preprocess& preprocess,
                                                   const TrainOptions& options) {
  SOTTO_TRY(const TorchModule* const found, torch_module());
  return found->make_loop(network, data, preprocess, options);
}

Result<DeviceTimes> measure_on_device(std::shared_ptr<const Mechanism> mechanism,
                                      std::span<const float> values, unsigned clients) {
  SOTTO_TRY(const TorchModule* const found, torch_module());
  return found->measure(std::move(mechanism), values, clients);
}

}  // namespace sotto
