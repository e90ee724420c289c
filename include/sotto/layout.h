// What a flat vector of weights consists of: named tensors, one after the other.
//
// A model crosses the stages as one vector; the layout remembers where each tensor lies, so that
// ranges can differ from tensor to tensor and a report can be bound to the model it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sotto {

enum class TensorRole {
  kParameter,  // trained by gradient
  kBuffer,     // a statistic that training leaves behind (batch norm's mean and variance)
};

struct TensorSpec {
  std::string name;  // as PyTorch's state_dict names it: "0.weight"
  std::vector<std::int64_t> shape;
  TensorRole role = TensorRole::kParameter;
  std::size_t offset = 0;  // of the first element in the flat vector
  std::size_t size = 0;    // number of elements
};

class Layout {
 public:
  Layout() = default;

  void add(std::string name, std::vector<std::int64_t> shape, TensorRole role);

  const std::vector<TensorSpec>& tensors() const noexcept { return tensors_; }
  std::size_t size() const noexcept { return size_; }
  /// Elements with the role kParameter: the number that papers quote.
  std::size_t parameter_count() const noexcept;
  /// SHA-256 over names, shapes and roles, in hexadecimal: two parties agree on a layout by it.
  std::string fingerprint() const;

 private:
  std::vector<TensorSpec> tensors_;
  std::size_t size_ = 0;
};

}  // namespace sotto
