// What a shuffler holds: whole reports of one round, unreadable to it, until it may pass them on.
//
// Reports of one contract are one batch. What the server says decides which batch it gets and when,
// never what is in it: members, form and smallest size come from the headers that clients signed.
//
//   state of a batch  add             close, enough  close, too few  batch            round is left
//   none              -> collecting   none           none            refused          -> over
//   collecting        kept            -> closed      collecting      refused          -> over
//   closed            refused         the same       the same        the same chunks  -> over
//   stopped           refused         stopped        stopped         refused          -> over
//   over              refused         over           over            refused          over
//
// - A closed batch never changes: who comes later is not in it, because a server that saw a batch
//   with and without one sender could tell that sender's chunks by the difference. A shuffler that
//   starts again goes on with the same batch in the same order.
// - A round that is over never comes back, and neither does an earlier one of its run. What was
//   there of it is deleted, with the key of its permutations; that it was there is remembered.
//   One of which nothing was kept may begin again.
// - A batch has the largest set of reports of which none asks for more members than it has.
// - A report whose file is damaged is left out before the batch is closed. In a closed batch bytes
//   that open for nobody stand in its place, and where too few sound ones are left the batch is
//   stopped: nothing more of it leaves.
//
// For each position of the report the batch has an order of its own, independent of the others and
// uniform, so that nothing ties the chunks of one sender to one another. Whatever is confirmed is
// on the disk before. Not for several threads at once; for one process at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/lock.h"
#include "shuffle/spool_files.h"
#include "sotto/result.h"

namespace sotto::rpc {

using spool_files::Asked;

/// What the server says that it collects.
struct SpoolRound {
  Tag run{};
  RoundId round = 0;
  std::vector<std::string> contracts;  // the digest for each group
};

enum class BatchState { kNone, kCollecting, kClosed, kStopped, kOver };

/// Of reports that each ask for so many members of their batch, those of the largest set in which
/// all have what they ask for, by number; empty where that is smaller than `least`.
std::vector<std::size_t> largest_agreed(const std::vector<std::uint32_t>& minimums,
                                        std::uint64_t least);

class Spool {
 public:
  /// kRefused: another process uses the folder. kCorrupt: it does not say any more what is over.
  static Result<Spool> open(std::filesystem::path folder);

  /// From now on this round is collected, and the one before is over. kRefused: this one is over.
  Result<void> begin(const SpoolRound& round);
  const SpoolRound& round() const { return round_; }
  bool over(const Tag& run, RoundId round) const;
  /// The server has all that it will ever want of the round: nothing of it is kept.
  Result<void> finish();

  /// Keeps a report, its chunks one after the other, for good. False: one of this sender is here
  /// already. Refuses one of a contract that is not collected, one that is not as its contract says
  /// and one that comes after the batch was closed.
  Result<bool> add(const std::string& sender, const Contract& contract, std::uint32_t minimum,
                   std::vector<std::byte> report);
  /// Somebody who was asked came with a contract that is not collected: kept for others to see.
  Result<void> note_other(const std::string& sender, const Contract& contract);
  /// The sender's report, if its batch is not closed, will not be in it.
  void leave_out(std::size_t group, const std::string& sender);
  bool holds(const std::string& sender) const;
  /// Who has a report in the group's batch, or will have.
  std::vector<std::string> senders(std::size_t group) const;
  std::uint64_t reports(std::size_t group) const { return senders(group).size(); }
  /// What members came with in a round that is collected or was, the last few at least.
  std::vector<Asked> asked(const Tag& run, RoundId round) const;

  BatchState state(std::size_t group) const;
  /// Nobody can join or leave the batch any more: its number of reports, which never changes. 0:
  /// fewer than `least` reports agree, or the batch is stopped; nothing may leave.
  Result<std::uint64_t> close(std::size_t group, std::uint64_t least);
  /// Of the group's contract; nothing before the first report of it.
  const Contract* contract(std::size_t group) const;
  /// The chunks of one position in the batch's order; kRefused unless it is closed.
  Result<std::vector<std::vector<std::byte>>> batch(std::size_t group, std::size_t position);

  /// What was found to be damaged since the last call, for people.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  struct Report {
    std::uint32_t minimum = 0;
    bool sound = true;
  };
  struct Batch {
    Contract contract;
    BatchState state = BatchState::kCollecting;
    std::map<std::string, Report> reports;  // by sender
    spool_files::BatchFacts closed;         // once it is
  };
  Spool(std::filesystem::path folder, UseLock lock, spool_files::Memory memory)
      : folder_(std::move(folder)), lock_(std::move(lock)), memory_(std::move(memory)) {}

  std::filesystem::path round_folder() const;
  std::filesystem::path batch_folder(const std::string& contract) const;
  Batch* batch_of(std::size_t group);
  const Batch* batch_of(std::size_t group) const;
  void load();
  void load_batch(const std::string& digest);
  /// Something of this round is about to be kept.
  Result<void> remember();
  Result<void> leave();
  /// Stops a closed batch that has too few sound reports.
  void judge(Batch& batch, const std::filesystem::path& folder);

  std::filesystem::path folder_;
  UseLock lock_;
  spool_files::Memory memory_;
  SpoolRound round_;
  bool left_ = false;                     // the round in round_ is over
  std::map<std::string, Batch> batches_;  // by contract
  std::map<std::string, Asked> others_;   // by sender
  std::set<std::string> left_out_;
  std::vector<std::string> notes_;
};

}  // namespace sotto::rpc
