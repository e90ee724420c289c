#include "sotto/layout.h"

#include <functional>
#include <numeric>

#include "base/sha256.h"

namespace sotto {

void Layout::add(std::string name, std::vector<std::int64_t> shape, TensorRole role) {
  const auto count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const auto size = static_cast<std::size_t>(count);
  tensors_.push_back({std::move(name), std::move(shape), role, size_, size});
  size_ += size;
}

std::size_t Layout::parameter_count() const noexcept {
  std::size_t count = 0;
  for (const TensorSpec& tensor : tensors_) {
    if (tensor.role == TensorRole::kParameter) count += tensor.size;
  }
  return count;
}

std::string Layout::fingerprint() const {
  std::string text;
  for (const TensorSpec& tensor : tensors_) {
    text += tensor.name;
    text += tensor.role == TensorRole::kParameter ? " parameter" : " buffer";
    for (const std::int64_t extent : tensor.shape) text += ' ' + std::to_string(extent);
    text += '\n';
  }
  return sha256_hex(text);
}

}  // namespace sotto
