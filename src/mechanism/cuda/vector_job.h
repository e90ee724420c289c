// What the host hands to the kernels of vector.cu: plain structures and pointers into the memory of
// the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mechanism/vector/vector_steps.h"

namespace sotto::cuda {

/// A tensor of the mechanism's layout: a row of `size` values for each client.
struct VectorTensor {
  const float* payload;
  const float* model;  // what payloads are differences to; null: they are taken as they are
  std::uint64_t offset;
  std::uint64_t size;
};

/// What a block of 4,096 coordinates of a client adds up to: PrivUnitParts::BlockSums.
struct VectorSums {
  double square[2];
  double product[2];
  double input[2];
  double least;  // radius
  double most;
};

/// How a client's coordinates are combined; what is off with a block of them lies beside it.
struct VectorPlan {
  double a;
  double b;
  double of_value;
  double of_input;
};

struct VectorJob {
  std::uint32_t clients;
  std::uint32_t blocks;  // of a client
  std::uint64_t dimension;
  std::uint64_t row;  // coordinates of a client with its padding, a multiple of 32
  const VectorTensor* tensors;
  const std::uint32_t* table;       // aes_table()
  const std::uint32_t* round_keys;  // aes_round_keys() of every client
  double norm;
  bool fills;  // as fill_ball() with this floor, and then as bound()
  double floor;
  float* input;             // clients x row: bounded; the first axis for a zero vector
  double* noise;            // clients x row
  std::uint32_t* zero;      // of clients: whether the bounded vector is zero
  steps::Scaling* scaling;  // of clients
  double* bound_sums;       // clients x blocks x 2: of the squares that bound() adds
  VectorSums* sums;         // clients x blocks
  const VectorPlan* plans;  // of clients
  const double* flats;      // clients x blocks
  double most;              // the largest symbol
  std::uint32_t* unsure;    // of clients: whether a coordinate is undecided
};
/// Each returns the runtime's error, 0 for none.

/// The payloads, bounded, into job.input, and which of them are zero.
int start_bound(const VectorJob& job);
/// The deviates into job.noise.
int start_normals(const VectorJob& job);
/// job.sums, of what the two before have made.
int start_sums(const VectorJob& job);
/// The symbols of job.plans: `sign` times added to `sums`, or one report's each into `reports`; of
/// the clients [first, first + count) alone.
int start_symbols(const VectorJob& job, std::uint32_t first, std::uint32_t count, int sign,
                  std::int64_t* sums, std::int32_t* reports);

}  // namespace sotto::cuda
