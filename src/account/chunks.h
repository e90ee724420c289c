// What a client's report is cut into on its way through the shuffler, by kind.
//
// Chunks of one kind have the same background, so one privacy loss serves all of them. Inside a
// tensor all whole chunks are of one kind, so the number of kinds and the time to find them grow
// with the number of tensors, never with the number of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/mechanism.h"

namespace sotto {

struct ChunkKind {
  Background background;
  std::uint64_t count = 0;  // chunks of this kind in one report
};

/// The chunks of `split` symbols each (0: the whole report is one). A mechanism that draws its
/// symbols together has one chunk whatever the split: cutting what was shuffled whole, and
/// shuffling the pieces again, tells an observer nothing more.
std::vector<ChunkKind> chunk_kinds(const Mechanism& mechanism, std::uint64_t split);

/// What holds for each of these mechanisms, whichever one was used.
std::vector<ChunkKind> chunk_kinds(const std::vector<const Mechanism*>& any, std::uint64_t split);

/// What holds for distributions of either background.
Background weaker(const Background& a, const Background& b);

/// Adds chunks; those of an equal background are counted together.
void add(std::vector<ChunkKind>& kinds, const Background& background, std::uint64_t count);

}  // namespace sotto
