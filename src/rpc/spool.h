// What a shuffler holds: whole reports of one round, unreadable to it, until it may pass them on.
//
// A report is a file, written before its sender is told; a batch is a list of reports and a key for
// its permutations, written before its first chunk leaves. A batch that has been written never
// changes: who comes later is not in it, because a server that saw the batch with and without one
// sender could tell that sender's chunks by the difference. A shuffler that starts again goes on
// with the same batch in the same order.
//
// For each position of the report the batch has an order of its own, independent of the others and
// uniform, so that nothing ties the chunks of one sender to one another.
//
// Not for several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "rpc/collection.h"
#include "sotto/bits.h"
#include "sotto/result.h"
#include "sotto/stages.h"

namespace sotto::rpc {

/// Tells a round of one run from every other.
struct SpoolRound {
  Tag run{};
  RoundId round = 0;
  struct Group {
    std::uint64_t chunks = 0;       // of a report
    std::uint32_t chunk_bytes = 0;  // of each
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::vector<Group> groups;

  friend bool operator==(const SpoolRound&, const SpoolRound&) = default;
};

class Spool {
 public:
  static Result<Spool> open(std::filesystem::path folder);

  /// From now on this round is collected; what is there of others is forgotten.
  Result<void> begin(const SpoolRound& round);
  const SpoolRound& round() const { return round_; }

  /// Keeps a report, its chunks one after the other, for good. False: it is here already. Refuses
  /// one that is not as long as announced and one that comes after the batch was closed.
  Result<bool> add(const std::string& sender, std::size_t group, std::span<const std::byte> report);
  /// Reports of different senders.
  std::uint64_t reports(std::size_t group) const { return groups_[group].senders.size(); }

  /// Nobody else can join the batch any more.
  Result<void> close(std::size_t group);
  bool closed(std::size_t group) const { return groups_[group].closed; }
  /// The chunks of one position in the batch's order.
  Result<std::vector<std::vector<std::byte>>> batch(std::size_t group, std::size_t position) const;

 private:
  struct Group {
    std::vector<std::string> senders;  // as files are named
    bool closed = false;
    std::array<std::uint64_t, 4> key{};  // of the permutations
  };
  explicit Spool(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path round_folder() const;
  std::filesystem::path group_folder(std::size_t group) const;
  Result<void> load(std::size_t group);

  std::filesystem::path folder_;
  SpoolRound round_;
  std::vector<Group> groups_;
};

}  // namespace sotto::rpc
