// Memory of the device, owned.
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <string>
#include <vector>

#include "sotto/result.h"

namespace sotto::cuda {

/// An error of the runtime as one of ours.
inline Result<void> check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return fail(ErrorKind::kInternal, std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T>
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  /// At least so many elements; what was there is lost when it grows.
  Result<void> reserve(std::size_t count) {
    if (count <= size_) return {};
    cudaFree(std::exchange(data_, nullptr));
    size_ = 0;
    void* made = nullptr;
    SOTTO_CHECK(check(cudaMalloc(&made, count * sizeof(T)), "allocating memory of the device"));
    data_ = static_cast<T*>(made);
    size_ = count;
    return {};
  }
  Result<void> copy_from(std::span<const T> values) {
    SOTTO_CHECK(reserve(values.size()));
    return check(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
                 "copying to the device");
  }
  Result<void> clear() {
    return check(cudaMemset(data_, 0, size_ * sizeof(T)), "clearing memory of the device");
  }
  Result<std::vector<T>> copy(std::size_t count) const {
    std::vector<T> values(count);
    SOTTO_CHECK(check(cudaMemcpy(values.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost),
                      "copying from the device"));
    return values;
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sotto::cuda
