// Processes of one job that share its work, as an MPI launcher starts them: rank 0 leads, the
// others help. Only what the leader and its helpers need of a communicator is here, so that tests
// can put threads in the place of processes.
//
// A message is never lost or reordered between two ranks. A rank that dies takes the job with it:
// that is the launcher's work, and no function here returns afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sotto {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual unsigned rank() const noexcept = 0;
  virtual unsigned size() const noexcept = 0;
  bool leads() const noexcept { return rank() == 0; }

  /// An empty message says that rank 0 has left: it sends one to everybody when it goes, whatever
  /// the reason.
  virtual void send(unsigned to, std::span<const std::byte> message) = 0;
  /// Waits without burning a core: the wait may be as long as a round.
  virtual std::vector<std::byte> receive(unsigned from) = 0;
  /// What has arrived already, if anything.
  virtual std::optional<std::vector<std::byte>> poll(unsigned from) = 0;

  // Calls that all ranks make together, in the same order.
  /// What rank 0 has, for all.
  virtual void broadcast(std::span<float> values) = 0;
  /// The sums over all ranks, for rank 0; the others' values are left as they are.
  virtual void add_up(std::span<std::int64_t> values) = 0;
};

}  // namespace sotto
