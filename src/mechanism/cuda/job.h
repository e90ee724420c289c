// What the host hands to the kernels of perturb.cu: plain structures and pointers into the memory
// of the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mechanism/value/channel_kernels.h"

namespace sotto::cuda {

/// The part of a block of 4,096 weights that lies in one tensor. Its words follow those of the
/// pieces before it, plane by plane, as ValueMechanism::sample_block draws them.
struct Piece {
  std::uint32_t tensor;
  std::uint32_t begin;  // within the block
  std::uint32_t count;
  std::uint32_t first_word;
};

/// A tensor of the mechanism's layout: a row of `size` values for each client.
struct Tensor {
  const float* payload;
  const float* model;  // what payloads are differences to; null: they are taken as they are
  std::uint64_t offset;
  std::uint64_t size;
  float low, centre, high;  // of the range that bound() clips to
  std::uint32_t channel;
};

/// A weight whose words left its symbol open, with all that the processor needs to draw it.
struct OpenWeight {
  std::uint64_t index;
  std::uint32_t client;
  float weight;  // bounded
  std::uint32_t words[2];
};

struct PerturbJob {
  std::uint32_t clients;
  std::uint32_t blocks;  // of a client
  const Tensor* tensors;
  const Piece* pieces;
  const std::uint32_t* first_piece;  // of every block, and one more
  const std::uint32_t* table;        // aes_table()
  const std::uint32_t* round_keys;   // aes_round_keys() of every client
  OpenWeight* open;
  std::uint32_t* open_count;  // also counts those that found no room
  std::uint32_t open_room;
};

/// Where the symbols go: summed over clients, or one report's each, in 32 or 64 bits.
struct PerturbOutput {
  std::int64_t* sums = nullptr;
  std::int32_t* narrow = nullptr;
  std::int64_t* wide = nullptr;
};

/// Starts the kernel of the channels' kind, one of ChannelKernel's; `channels` lie on the device.
/// Returns the runtime's error, 0 for none.
template <class Kernel>
int start_perturb(const PerturbJob& job, const Kernel* channels, std::uint64_t outputs,
                  const PerturbOutput& output);

/// Draws the words of the job and does nothing with them: the floor of a benchmark.
int start_words(const PerturbJob& job, unsigned words_each, std::uint32_t* sink);

}  // namespace sotto::cuda
