// privunit on a CUDA device: the same streams, the same doubles, the same symbols.
//
// Every number of the processor's computation has its place here too and is made by the same
// operations in the same order (mechanism/vector/vector_steps.h; this file is compiled without
// fused multiply-adds): a warp is the 32 lanes of a sum. What concerns a whole vector is the
// processor's: it reads the sums of all blocks and writes the plans of all clients
// (device_vector.cpp).
#include <algorithm>

#include "mechanism/cuda/aes_device.cuh"
#include "mechanism/cuda/vector_job.h"

namespace sotto::cuda {
namespace {

constexpr std::uint32_t kBlock = 4096;  // coordinates that share a stream
constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kFillLanes = 16;  // of fill_ball()

__device__ __forceinline__ std::uint32_t count_of(const VectorJob& job, std::uint32_t block) {
  return static_cast<std::uint32_t>(
      min(std::uint64_t{kBlock}, job.dimension - std::uint64_t{block} * kBlock));
}
__device__ __forceinline__ std::uint32_t padded(std::uint32_t count) {
  return (count + kWarp - 1) / kWarp * kWarp;
}

// ---- bounding

constexpr unsigned kElementThreads = 256;

__global__ void gather_kernel(VectorJob job) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  if (i >= job.row) return;
  const VectorTensor* tensor = job.tensors;
  while (i < job.dimension && i >= tensor->offset + tensor->size) ++tensor;
  for (std::uint32_t c = blockIdx.y; c < job.clients; c += gridDim.y) {
    float value = 0.0F;
    if (i < job.dimension) {
      const std::uint64_t within = i - tensor->offset;
      value = tensor->payload[c * tensor->size + within];
      if (tensor->model != nullptr) value -= tensor->model[within];
      if (!(value - value == 0.0F)) value = 0.0F;
    }
    job.input[c * job.row + i] = value;
  }
}

/// Sixteen threads are the sixteen lanes of fill_ball()'s sum.
__global__ void fill_kernel(VectorJob job) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  const auto lane = static_cast<std::uint32_t>(thread % kFillLanes);
  const std::uint64_t client = thread / kFillLanes;
  const bool works = client < job.clients;
  const float* const x = job.input + (works ? client : 0) * job.row;
  double sum = 0.0;
  for (std::uint64_t i = lane; i < job.dimension; i += kFillLanes) {
    const double value = x[i];
    sum += value * value;
  }
  double square = 0.0;
  for (std::uint32_t from = 0; from < kFillLanes; ++from) {
    square += __shfl_sync(0xFFFFFFFF, sum, from, kFillLanes);
  }
  if (works && lane == 0) job.scaling[client] = steps::filling(square, job.norm, job.floor);
}

__global__ void scale_kernel(VectorJob job) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  if (i >= job.dimension) return;
  for (std::uint32_t c = blockIdx.y; c < job.clients; c += gridDim.y) {
    const steps::Scaling scaling = job.scaling[c];
    if (scaling.how == steps::Scaling::How::kKeep) continue;
    float& value = job.input[c * job.row + i];
    value = scaling.of(value, i);
  }
}

constexpr unsigned kSumWarps = 8;

/// The lanes of one sum, which lie side by side in shared memory, added in order.
__device__ __forceinline__ void add_lanes(const steps::LaneSum* lanes, double* out) {
  double high = 0.0;
  double low = 0.0;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    steps::add_wide(high, low, lanes[lane].sum);
    steps::add_wide(high, low, -lanes[lane].lost);
  }
  out[0] = high;
  out[1] = low;
}

/// The squares that bound() adds up: those of whole lanes of each block.
__global__ void __launch_bounds__(kSumWarps* kWarp) bound_sums_kernel(VectorJob job) {
  __shared__ steps::LaneSum lanes[kSumWarps][kWarp];
  const std::uint32_t warp = threadIdx.x / kWarp;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint64_t turn = std::uint64_t{blockIdx.x} * kSumWarps + warp;
  if (turn >= std::uint64_t{job.clients} * job.blocks) return;
  const auto block = static_cast<std::uint32_t>(turn % job.blocks);
  const float* const x = job.input + turn / job.blocks * job.row + std::uint64_t{block} * kBlock;
  const std::uint32_t whole = count_of(job, block) / kWarp * kWarp;
  steps::LaneSum sum;
  for (std::uint32_t i = lane; i < whole; i += kWarp) sum.add_product(x[i], x[i]);
  lanes[warp][lane] = sum;
  __syncwarp();
  if (lane == 0) add_lanes(lanes[warp], job.bound_sums + 2 * turn);
}

__global__ void bound_kernel(VectorJob job) {
  const std::uint32_t c = blockIdx.x * kElementThreads + threadIdx.x;
  if (c >= job.clients) return;
  double high = 0.0;
  double low = 0.0;
  for (std::uint32_t block = 0; block < job.blocks; ++block) {
    const double* const sum = job.bound_sums + 2 * (std::uint64_t{c} * job.blocks + block);
    steps::add_wide(high, low, sum[1]);
    steps::add_wide(high, low, sum[0]);
  }
  for (std::uint64_t i = job.dimension / kWarp * kWarp; i < job.dimension; ++i) {
    const double value = job.input[c * job.row + i];
    steps::add_wide(high, low, value * value);
  }
  const double square = high + low;
  job.zero[c] = square == 0.0 ? 1 : 0;
  job.scaling[c] = square == 0.0 ? steps::Scaling{1.0, steps::Scaling::How::kFirst}
                                 : steps::projecting(square, job.norm);
}

// ---- deviates

constexpr unsigned kNormalWarps = 16;
constexpr unsigned kNormalBlocksEach = 2;   // of a multiprocessor, at least
constexpr std::uint32_t kPieceTurns = 256;  // pairs of cipher blocks that a warp takes at once

__device__ __forceinline__ std::uint64_t word_of(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

extern __shared__ uint4 shared_memory[];

/// A warp takes a piece of a block: cipher block n holds the words of two radii, cipher block
/// n + half those of their angles.
__global__ void __launch_bounds__(kNormalWarps* kWarp, kNormalBlocksEach)
    normals_kernel(VectorJob job, std::uint32_t pieces) {
  auto* const table = reinterpret_cast<std::uint32_t*>(shared_memory);
  __shared__ std::uint32_t all_keys[kNormalWarps][60];
  load_table(job.table, table);
  __syncthreads();
  const std::uint32_t warp = threadIdx.x / kWarp;
  const std::uint32_t lane = threadIdx.x % kWarp;
  std::uint32_t* const keys = all_keys[warp];
  const std::uint64_t all = std::uint64_t{job.clients} * pieces;
  constexpr std::uint32_t kPieces = kBlock / 4 / kPieceTurns;  // of a whole block
  for (std::uint64_t turn = std::uint64_t{blockIdx.x} * kNormalWarps + warp; turn < all;
       turn += std::uint64_t{gridDim.x} * kNormalWarps) {
    const std::uint64_t client = turn / pieces;
    const auto piece = static_cast<std::uint32_t>(turn % pieces);
    const std::uint32_t block = piece / kPieces;
    const std::uint32_t count = count_of(job, block);
    const std::uint32_t pairs = padded(count) / 2;
    const std::uint32_t half = pairs / 2;
    __syncwarp();
    for (std::uint32_t k = lane; k < 60; k += kWarp) keys[k] = job.round_keys[client * 60 + k];
    __syncwarp();
    double* const out = job.noise + client * job.row + std::uint64_t{block} * kBlock;
    double least = 16.0;
    double most = 0.0;
    const std::uint32_t begin = piece % kPieces * kPieceTurns;
    const std::uint32_t end = min(begin + kPieceTurns, half);
    for (std::uint32_t n = begin + lane; n < end; n += kWarp) {
      const uint4 radius = stream_words(table + lane, keys, 2 * std::uint64_t{block}, n);
      const uint4 angle = stream_words(table + lane, keys, 2 * std::uint64_t{block}, n + half);
      double2 first;
      double2 second;
      const double r = steps::normal_pair(word_of(radius.x, radius.y), word_of(angle.x, angle.y),
                                          first.x, second.x);
      const double s = steps::normal_pair(word_of(radius.z, radius.w), word_of(angle.z, angle.w),
                                          first.y, second.y);
      least = fmin(least, fmin(r, s));
      most = fmax(most, fmax(r, s));
      const std::uint32_t at = 2 * n;
      if (at >= count) first.x = 0.0;
      if (at + 1 >= count) first.y = 0.0;
      if (pairs + at >= count) second.x = 0.0;
      if (pairs + at + 1 >= count) second.y = 0.0;
      *reinterpret_cast<double2*>(out + at) = first;
      *reinterpret_cast<double2*>(out + pairs + at) = second;
    }
    for (std::uint32_t step = kWarp / 2; step > 0; step /= 2) {
      least = fmin(least, __shfl_xor_sync(0xFFFFFFFF, least, step));
      most = fmax(most, __shfl_xor_sync(0xFFFFFFFF, most, step));
    }
    if (lane == 0 && begin < end) {  // doubles that are not negative ascend with their bits
      VectorSums& sums = job.sums[client * job.blocks + block];
      atomicMin(reinterpret_cast<unsigned long long*>(&sums.least),
                static_cast<unsigned long long>(__double_as_longlong(least)));
      atomicMax(reinterpret_cast<unsigned long long*>(&sums.most),
                static_cast<unsigned long long>(__double_as_longlong(most)));
    }
  }
}

__global__ void ranges_kernel(VectorJob job) {
  const std::uint64_t at = std::uint64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  if (at >= std::uint64_t{job.clients} * job.blocks) return;
  job.sums[at].least = 16.0;
  job.sums[at].most = 0.0;
}

// ---- sums

__global__ void __launch_bounds__(kSumWarps* kWarp) sums_kernel(VectorJob job) {
  __shared__ steps::LaneSum lanes[kSumWarps][3][kWarp];
  const std::uint32_t warp = threadIdx.x / kWarp;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint64_t turn = std::uint64_t{blockIdx.x} * kSumWarps + warp;
  if (turn >= std::uint64_t{job.clients} * job.blocks) return;
  const auto block = static_cast<std::uint32_t>(turn % job.blocks);
  const std::uint64_t start = turn / job.blocks * job.row + std::uint64_t{block} * kBlock;
  const std::uint32_t all = padded(count_of(job, block));
  steps::LaneSum square;
  steps::LaneSum product;
  steps::LaneSum input;
#pragma unroll 4
  for (std::uint32_t i = lane; i < all; i += kWarp) {
    const double g = job.noise[start + i];
    const double x = job.input[start + i];
    square.add_product(g, g);
    product.add_product(g, x);
    input.add_product(x, x);
  }
  lanes[warp][0][lane] = square;
  lanes[warp][1][lane] = product;
  lanes[warp][2][lane] = input;
  __syncwarp();
  VectorSums& out = job.sums[turn];
  if (lane == 0) add_lanes(lanes[warp][0], out.square);
  if (lane == 1) add_lanes(lanes[warp][1], out.product);
  if (lane == 2) add_lanes(lanes[warp][2], out.input);
}

// ---- symbols

constexpr unsigned kSymbolThreads = 256;
constexpr unsigned kSymbolsEach = 4;  // of a thread
constexpr std::uint32_t kChunk = kSymbolThreads * kSymbolsEach;

/// A thread block takes a chunk of coordinates of a group of clients, one client after the other.
template <bool kReports>
__global__ void __launch_bounds__(kSymbolThreads)
    symbols_kernel(VectorJob job, std::uint32_t first, std::uint32_t count, std::uint32_t group,
                   int sign, std::int64_t* sums, std::int32_t* reports) {
  const std::uint32_t block = blockIdx.x / (kBlock / kChunk);
  const std::uint64_t start = std::uint64_t{blockIdx.x} * kChunk + threadIdx.x;
  const std::uint32_t begin = first + blockIdx.y * group;
  const std::uint32_t end = min(begin + group, first + count);
  std::int32_t added[kSymbolsEach] = {};
  for (std::uint32_t c = begin; c < end; ++c) {
    const VectorPlan plan = job.plans[c];
    const steps::Rounding how{plan.a,        plan.b,
                              job.most,      job.flats[std::uint64_t{c} * job.blocks + block],
                              plan.of_value, plan.of_input};
    bool sure = true;
#pragma unroll
    for (unsigned k = 0; k < kSymbolsEach; ++k) {
      const std::uint64_t i = start + k * kSymbolThreads;
      if (i >= job.dimension) continue;
      std::int32_t symbol = 0;
      sure = steps::is_sure(steps::round_surely(how, job.noise[c * job.row + i],
                                                job.input[c * job.row + i], symbol)) &&
             sure;
      if (kReports) {
        reports[(c - first) * job.dimension + i] = symbol;
      } else {
        added[k] += symbol;
      }
    }
    if (!sure) job.unsure[c] = 1;
  }
  if constexpr (!kReports) {
    for (unsigned k = 0; k < kSymbolsEach; ++k) {
      const std::uint64_t i = start + k * kSymbolThreads;
      if (i >= job.dimension) continue;
      atomicAdd(reinterpret_cast<unsigned long long*>(sums + i),
                static_cast<unsigned long long>(std::int64_t{sign} * added[k]));
    }
  }
}

unsigned blocks_for(std::uint64_t items, unsigned each) {
  return static_cast<unsigned>((items + each - 1) / each);
}

dim3 element_grid(const VectorJob& job) {
  return {blocks_for(job.row, kElementThreads), std::min(job.clients, 65535U), 1};
}

}  // namespace

int start_bound(const VectorJob& job) {
  const dim3 elements = element_grid(job);
  const std::uint64_t all = std::uint64_t{job.clients} * job.blocks;
  gather_kernel<<<elements, kElementThreads>>>(job);
  if (job.fills) {
    fill_kernel<<<blocks_for(std::uint64_t{job.clients} * kFillLanes, kElementThreads),
                  kElementThreads>>>(job);
    scale_kernel<<<elements, kElementThreads>>>(job);
  }
  bound_sums_kernel<<<blocks_for(all, kSumWarps), kSumWarps * kWarp>>>(job);
  bound_kernel<<<blocks_for(job.clients, kElementThreads), kElementThreads>>>(job);
  scale_kernel<<<elements, kElementThreads>>>(job);
  return static_cast<int>(cudaGetLastError());
}

int start_normals(const VectorJob& job) {
  const std::uint64_t all = std::uint64_t{job.clients} * job.blocks;
  ranges_kernel<<<blocks_for(all, kElementThreads), kElementThreads>>>(job);
  // Every thread block that the device holds at once, each of which takes turn after turn.
  constexpr unsigned kBytes = 4 * kTableWords;
  int device = 0;
  int processors = 0;
  int each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, normals_kernel,
                                                          kNormalWarps * kWarp, kBytes);
  }
  if (error != cudaSuccess) return static_cast<int>(error);
  const std::uint64_t last = job.dimension - std::uint64_t{job.blocks - 1} * kBlock;
  const auto in_last = static_cast<std::uint32_t>((last + kWarp - 1) / kWarp * kWarp / 4);
  const std::uint32_t pieces =
      (job.blocks - 1) * (kBlock / 4 / kPieceTurns) + (in_last + kPieceTurns - 1) / kPieceTurns;
  const std::uint64_t turns = std::uint64_t{job.clients} * pieces;
  const auto grid = static_cast<unsigned>(
      std::min<std::uint64_t>((turns + kNormalWarps - 1) / kNormalWarps,
                              std::uint64_t(processors) * std::uint64_t(std::max(each, 1))));
  normals_kernel<<<grid, kNormalWarps * kWarp, kBytes>>>(job, pieces);
  return static_cast<int>(cudaGetLastError());
}

int start_sums(const VectorJob& job) {
  const std::uint64_t all = std::uint64_t{job.clients} * job.blocks;
  sums_kernel<<<blocks_for(all, kSumWarps), kSumWarps * kWarp>>>(job);
  return static_cast<int>(cudaGetLastError());
}

int start_symbols(const VectorJob& job, std::uint32_t first, std::uint32_t count, int sign,
                  std::int64_t* sums, std::int32_t* reports) {
  constexpr std::uint32_t kThreadBlocks = 4096;
  const unsigned chunks = blocks_for(job.dimension, kChunk);
  const unsigned wanted = std::clamp(kThreadBlocks / chunks, 1U, std::min(count, 65535U));
  const unsigned group = blocks_for(count, wanted);
  const dim3 grid(chunks, blocks_for(count, group), 1);
  if (reports != nullptr) {
    symbols_kernel<true><<<grid, kSymbolThreads>>>(job, first, count, group, sign, sums, reports);
  } else {
    symbols_kernel<false><<<grid, kSymbolThreads>>>(job, first, count, group, sign, sums, reports);
  }
  return static_cast<int>(cudaGetLastError());
}

}  // namespace sotto::cuda
