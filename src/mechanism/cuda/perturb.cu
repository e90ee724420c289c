// Value mechanisms on a CUDA device: the same streams, the same integers, the same symbols.
//
// A thread block takes a block of 4,096 weights of a client: it computes the block's stream
// (AES-256-CTR, as base/streams.h lays it out) into shared memory, and every thread draws the
// symbols of some of its weights by the fast way of their channel, in doubles, operation by
// operation as the vector kernels do it (this file is compiled without fused multiply-adds). A
// weight that its words leave open is listed for the processor, whose draw() is the definition.
#include <algorithm>

#include "mechanism/cuda/aes_device.cuh"
#include "mechanism/cuda/job.h"

namespace sotto::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksEach = 2;  // of a multiprocessor, at least
constexpr std::uint32_t kBlock = 4096;

template <class Kernel>
constexpr unsigned kWordsOf = 2;
template <>
constexpr unsigned kWordsOf<FixedKernel> = 0;
template <>
constexpr unsigned kWordsOf<TwoPointKernel> = 1;

/// DecimalGrid::centred.
template <class Kernel>
__device__ __forceinline__ double centred(const Kernel& k, float weight, double reach) {
  const double offset = ceil(static_cast<double>(weight) * k.scale - k.shift);
  return fmin(fmax(offset, -reach), reach);
}

/// Each draw() returns whether the words decide the symbol.
__device__ __forceinline__ bool draw(const FixedKernel& k, float weight, std::uint32_t,
                                     std::uint32_t, long long& symbol) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = static_cast<double>(weight) * k.scale + kShift;
  symbol = __double_as_longlong(shifted) - __double_as_longlong(kShift);
  return true;
}

__device__ __forceinline__ bool draw(const TwoPointKernel& k, float weight, std::uint32_t first,
                                     std::uint32_t, long long& symbol) {
  const double offset = (static_cast<double>(weight) - k.centre) * k.slope;
  const int upper = static_cast<int>(floor(fmin(fmax(offset, -k.most), k.most)));
  const int word = static_cast<int>(first ^ 0x80000000U);
  symbol = word < upper ? 1 : 0;
  return word != upper;
}

__device__ __forceinline__ bool draw(const StaircaseView& k, float weight, std::uint32_t first,
                                     std::uint32_t second, long long& symbol) {
  const int word = static_cast<int>(first ^ 0x80000000U);
  int j = 0;
  for (int step = k.padded / 2; step > 0; step /= 2) {
    if (word > k.upper[j + step - 1]) j += step;
  }
  const auto size = static_cast<std::uint32_t>(k.size[j]);
  const std::uint64_t product = std::uint64_t{second} * size;
  const int s = static_cast<int>(centred(k, weight, static_cast<double>(k.radius)));
  const int t = k.begin[j] + static_cast<int>(product >> 32);
  const int shorter = k.radius - abs(s);
  if (t <= 2 * shorter) {
    symbol = s + ((t & 1) != 0 ? -(t + 1) / 2 : t / 2);
  } else {
    symbol = s < 0 ? t - k.radius : k.radius - t;
  }
  return word != k.upper[j] && static_cast<std::uint32_t>(product) >= size;
}

__device__ __forceinline__ bool draw(const WindowKernel& k, float weight, std::uint32_t word,
                                     std::uint32_t place, long long& symbol) {
  const double index = centred(k, weight, k.reach);
  double start = 0.0;
  double fraction = 0.0;
  if (k.positions == nullptr && k.nodes != nullptr) {
    int at = k.starts[static_cast<int>((index + k.reach) * k.bucket_scale)];
    for (int step = 0; step < k.steps; ++step) {
      if (index >= k.nodes[at + 1]) ++at;
    }
    start = at;
    fraction = fmin((index - k.nodes[at]) * k.inverse[at], kLargestFraction);
  } else {
    const double position = k.positions != nullptr ? k.positions[static_cast<int>(index + k.reach)]
                                                   : fmin((index + k.reach) * k.slope, k.last);
    start = floor(position);
    fraction = position - start;
  }
  const double next_share = floor(fraction * 0x1p20);

  const double choice = static_cast<double>(word >> kChoiceShift);
  const double coin = static_cast<double>(word & kFractionMask);
  const bool inside = choice < k.inside;
  bool decided = choice != k.inside && coin != next_share;
  if (coin < next_share) start += 1.0;

  const double range = inside ? k.window : k.slots - k.window;
  const std::uint64_t product = std::uint64_t{place} * static_cast<std::uint32_t>(range);
  const double rest = static_cast<double>(static_cast<std::uint32_t>(product));
  decided = decided && !(rest < (inside ? k.reject_inside : k.reject_outside));
  double slot = start + static_cast<double>(product >> 32) + (inside ? 0.0 : k.window);
  if (slot >= k.slots) slot -= k.slots;
  const int whole = static_cast<int>(slot);
  symbol = k.values != nullptr ? k.values[whole] : 2 * whole - (static_cast<int>(k.slots) - 1);

  if (k.pair != 0.0) {
    const double second = static_cast<double>(place) - 0x1p31;
    const double upper = floor(fmin(fmax(index * k.pair_slope, -k.pair_most), k.pair_most));
    decided = decided && choice != k.pair_from && second != upper;
    if (choice >= k.pair_from) symbol = static_cast<long long>(second < upper ? k.pair : -k.pair);
  }
  return decided;
}

/// e^-x and -ln z with the bounds that geometric.cpp proves: the steps are the same.
__device__ __forceinline__ double exponential(double x) {
  x = fmin(x, 200.0);
  constexpr double kShift = 0x1.8p52;
  const double shifted = fma(x, 0x1.71547652b82fep0, kShift);
  const double n = shifted - kShift;
  const double upper = fma(-n, 0x1.62e42feep-1, x);
  const double r = fma(n, 0x1.a39ef35793c76p-33, -upper);
  double sum = 1.0 / 6227020800.0;
  constexpr double kFactorials[] = {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0,
                                    5040.0,      720.0,      120.0,     24.0,     6.0,
                                    2.0,         1.0,        1.0};
#pragma unroll
  for (int i = 0; i < 13; ++i) sum = fma(sum, r, 1.0 / kFactorials[i]);
  const long long exponent = __double_as_longlong(shifted) << 52;
  return __longlong_as_double(__double_as_longlong(sum) - exponent);
}

__device__ __forceinline__ double minus_log(double z) {
  constexpr long long kHalfRoot = 0x3FE6A09E667F3BCD;  // sqrt(1/2)
  const long long bits = __double_as_longlong(z) + (0x3FF0000000000000 - kHalfRoot);
  const double e = static_cast<double>((bits >> 52) - 1023);
  const double m = __longlong_as_double((bits & 0x000FFFFFFFFFFFFF) + kHalfRoot);
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double square = s * s;
  double sum = 2.0 / 19.0;
  constexpr double kOdd[] = {17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0};
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = fma(sum, square, 2.0 / kOdd[i]);
  const double log_m = fma(s * square, sum, s + s);
  const double low = fma(e, 0x1.a39ef35793c76p-33, log_m);
  return -fma(e, 0x1.62e42feep-1, low);
}

/// (high 2^32 + low + 1/2) / 2^64, rounded once: both parts are exact.
__device__ __forceinline__ double unit(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(high) * 0x1p-32 + (static_cast<double>(low) * 0x1p-64 + 0x1p-65);
}

__device__ __forceinline__ bool draw(const GeometricKernel& k, float weight, std::uint32_t high,
                                     std::uint32_t low, long long& symbol) {
  const double input = centred(k, weight, k.reach);
  const double u = unit(high, low);
  const double complement = unit(~high, ~low);
  double below = 0.0;
  double above = 0.0;
  double length = k.one_plus_q;
  if (k.cut) {
    const double near = exponential(k.rate * (k.bound + 1.0 - fabs(input)));
    const double far = k.both_ends / near;
    below = input < 0.0 ? near : far;
    above = input < 0.0 ? far : near;
    length = k.one_plus_q - below - above;
  }
  const double x = fma(u, length, below);
  const double mirrored = fma(complement, length, above);
  const double z = fmin(x, mirrored);
  const double t = minus_log(z) * k.inverse_rate;
  const double whole = floor(t);
  const double past = t - whole;
  const double gap = fmin(past, 1.0 - past);
  const double bound = fma(fma(k.relative, t, k.fixed), z, k.unit);
  const double moved = x <= mirrored ? input - whole : input + whole;
  symbol = static_cast<long long>(fmin(fmax(moved, -k.bound), k.bound));
  return gap * z > bound && z >= 0x1p-50;
}

/// The round keys of the client, then the words of the block; barriers around both.
__device__ __forceinline__ void load_words(const PerturbJob& job, std::uint32_t client,
                                           std::uint32_t block, std::uint32_t count,
                                           const std::uint32_t* table, std::uint32_t* keys,
                                           std::uint32_t* words) {
  __syncthreads();
  if (threadIdx.x < 60) keys[threadIdx.x] = job.round_keys[client * 60 + threadIdx.x];
  __syncthreads();
  const std::uint32_t* const lane = table + threadIdx.x % kLanes;
  for (std::uint32_t n = threadIdx.x; 4 * n < count; n += kThreads) {
    reinterpret_cast<uint4*>(words)[n] = stream_words(lane, keys, 2 * std::uint64_t{block}, n);
  }
  __syncthreads();
}

extern __shared__ uint4 shared_memory[];

template <class Kernel>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    perturb_kernel(PerturbJob job, const Kernel* channels, PerturbOutput output,
                   std::uint64_t outputs) {
  auto* const table = reinterpret_cast<std::uint32_t*>(shared_memory);
  std::uint32_t* const words = table + kTableWords;
  __shared__ std::uint32_t keys[60];
  constexpr unsigned kWords = kWordsOf<Kernel>;
  if (kWords > 0) load_table(job.table, table);
  const std::uint64_t all = std::uint64_t{job.blocks} * job.clients;
  for (std::uint64_t turn = blockIdx.x; turn < all; turn += gridDim.x) {
    const auto client = static_cast<std::uint32_t>(turn / job.blocks);
    const auto block = static_cast<std::uint32_t>(turn % job.blocks);
    const std::uint32_t begin = job.first_piece[block];
    const std::uint32_t end = job.first_piece[block + 1];
    if (kWords > 0) {
      const Piece last = job.pieces[end - 1];
      load_words(job, client, block, last.first_word + kWords * last.count, table, keys, words);
    }
    for (std::uint32_t p = begin; p < end; ++p) {
      const Piece piece = job.pieces[p];
      const Tensor tensor = job.tensors[piece.tensor];
      const Kernel& channel = channels[tensor.channel];
      const std::uint64_t first = std::uint64_t{block} * kBlock + piece.begin;
      const std::uint64_t within = first - tensor.offset;
      const float* const payload = tensor.payload + client * tensor.size + within;
      for (std::uint32_t j = threadIdx.x; j < piece.count; j += kThreads) {
        float value = payload[j];
        if (tensor.model != nullptr) value -= tensor.model[within + j];
        if (!(value - value == 0.0F)) value = tensor.centre;
        value = fminf(fmaxf(value, tensor.low), tensor.high);
        const std::uint32_t* const own = words + piece.first_word + j;
        const std::uint32_t word = kWords > 0 ? own[0] : 0;
        const std::uint32_t second = kWords > 1 ? own[piece.count] : 0;
        long long symbol = 0;
        if (!draw(channel, value, word, second, symbol)) {
          const std::uint32_t place = atomicAdd(job.open_count, 1U);
          if (place < job.open_room) job.open[place] = {first + j, client, value, {word, second}};
          symbol = 0;
        }
        if (output.sums != nullptr) {
          atomicAdd(reinterpret_cast<unsigned long long*>(output.sums + first + j),
                    static_cast<unsigned long long>(symbol));
        } else if (output.narrow != nullptr) {
          output.narrow[client * outputs + first + j] = static_cast<std::int32_t>(symbol);
        } else {
          output.wide[client * outputs + first + j] = symbol;
        }
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksEach)
    words_kernel(PerturbJob job, std::uint32_t count, std::uint32_t* sink) {
  auto* const table = reinterpret_cast<std::uint32_t*>(shared_memory);
  std::uint32_t* const words = table + kTableWords;
  __shared__ std::uint32_t keys[60];
  load_table(job.table, table);
  const std::uint64_t all = std::uint64_t{job.blocks} * job.clients;
  for (std::uint64_t turn = blockIdx.x; turn < all; turn += gridDim.x) {
    load_words(job, static_cast<std::uint32_t>(turn / job.blocks),
               static_cast<std::uint32_t>(turn % job.blocks), count, table, keys, words);
  }
  // So that the compiler cannot leave it out.
  if (words[threadIdx.x] == 0x9E3779B9U && words[threadIdx.x + 1] == 0x7F4A7C15U) *sink = 1;
}

/// Every thread block that the device holds at once, each of which takes turn after turn.
template <class Function>
cudaError_t grid_for(Function* function, unsigned shared_bytes, const PerturbJob& job,
                     unsigned& grid) {
  int device = 0;
  int processors = 0;
  int each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes));
  }
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, function, kThreads, shared_bytes);
  }
  const std::uint64_t all = std::uint64_t{job.blocks} * job.clients;
  grid = static_cast<unsigned>(std::min<std::uint64_t>(
      all, static_cast<std::uint64_t>(processors) * static_cast<std::uint64_t>(std::max(each, 1))));
  return error;
}

unsigned shared_bytes(unsigned words_each) {
  return words_each == 0 ? 16 : 4 * (kTableWords + words_each * kBlock);
}

}  // namespace

template <class Kernel>
int start_perturb(const PerturbJob& job, const Kernel* channels, std::uint64_t outputs,
                  const PerturbOutput& output) {
  const unsigned bytes = shared_bytes(kWordsOf<Kernel>);
  unsigned grid = 0;
  const cudaError_t error = grid_for(perturb_kernel<Kernel>, bytes, job, grid);
  if (error != cudaSuccess) return static_cast<int>(error);
  if (grid == 0) return 0;
  perturb_kernel<Kernel><<<grid, kThreads, bytes>>>(job, channels, output, outputs);
  return static_cast<int>(cudaGetLastError());
}

template int start_perturb(const PerturbJob&, const FixedKernel*, std::uint64_t,
                           const PerturbOutput&);
template int start_perturb(const PerturbJob&, const TwoPointKernel*, std::uint64_t,
                           const PerturbOutput&);
template int start_perturb(const PerturbJob&, const StaircaseView*, std::uint64_t,
                           const PerturbOutput&);
template int start_perturb(const PerturbJob&, const WindowKernel*, std::uint64_t,
                           const PerturbOutput&);
template int start_perturb(const PerturbJob&, const GeometricKernel*, std::uint64_t,
                           const PerturbOutput&);

int start_words(const PerturbJob& job, unsigned words_each, std::uint32_t* sink) {
  const unsigned bytes = shared_bytes(words_each);
  unsigned grid = 0;
  const cudaError_t error = grid_for(words_kernel, bytes, job, grid);
  if (error != cudaSuccess) return static_cast<int>(error);
  words_kernel<<<grid, kThreads, bytes>>>(job, words_each * kBlock, sink);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace sotto::cuda
