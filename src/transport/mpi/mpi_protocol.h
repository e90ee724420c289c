// What rank 0 of a run and its helpers say to each other; mpi_transport.h tells the order.
#pragma once

#include "transport/mpi/mpi_transport.h"
#include "transport/mpi/rank_message.h"

namespace sotto::mpi {

enum class Order : std::uint8_t { kCollect, kAdd, kEvaluate };

/// What ranks must have in common.
std::string common_digest(const Recipe& recipe, const Setup& setup);

struct Task {
  RoundId round = 0;
  bool hashes = false;  // of the reports, for a ledger
  std::vector<Range> ranges;
  std::vector<std::vector<std::uint32_t>> clients;  // of each group
  ClientStates states;
};
void put(MessageWriter& out, const Task& task);
Task get_task(MessageReader& in);

struct Done {
  std::string error;  // empty: none
  std::uint64_t bytes = 0;
  ClientPool::Times times;
  std::vector<ReportHash> hashes;
  ClientStates states;
};
void put(MessageWriter& out, const Done& done);
Done get_done(MessageReader& in);

}  // namespace sotto::mpi
