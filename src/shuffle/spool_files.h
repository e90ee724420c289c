// The files of a shuffler's spool, each written whole or not at all and for its owner alone:
//
//   state.json                          which rounds are over, for ever
//   shuffler.lock                       held by the one process that uses the folder
//   round-R-RUN/CONTRACT/SENDER.report  the chunks of a report one after the other, then what it is
//   round-R-RUN/CONTRACT/batch.json     which reports are in the batch, and its permutations' key
//   round-R-RUN/others/SENDER           a contract that somebody came with and nobody collects
//
// RUN, CONTRACT and SENDER are digests. Whatever is read again carries a SHA-256 of itself.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shuffle/contract.h"
#include "sotto/result.h"

namespace sotto::rpc::spool_files {

/// How many members came with a contract.
struct Asked {
  std::string contract;  // digest
  std::uint32_t group = 0;
  std::uint64_t reports = 0;
  friend bool operator==(const Asked&, const Asked&) = default;
};

struct RoundName {
  Tag run{};
  RoundId round = 0;
  friend bool operator==(const RoundName&, const RoundName&) = default;
};

/// What is remembered of rounds, whatever becomes of their reports.
struct Memory {
  std::optional<RoundName> current;     // of which something was taken, and which is not over
  std::map<Tag, std::uint64_t> floors;  // of each run the lowest round that may be collected
  std::set<std::string> closed;         // contracts of the current round whose batch is closed
  struct Past {
    RoundName name;
    std::vector<Asked> asked;
  };
  std::vector<Past> past;  // rounds that are over, the last ones only
};
/// Nothing remembered where the file is not there; kCorrupt where it is damaged.
Result<Memory> read_memory(const std::filesystem::path& folder);
Result<void> write_memory(const std::filesystem::path& folder, const Memory& memory);

std::filesystem::path round_folder(const std::filesystem::path& folder, const RoundName& name);

/// What stands behind the chunks of a report.
struct ReportFacts {
  std::string sender;
  std::uint32_t minimum = 0;
  Contract contract;
};
std::filesystem::path report_file(const std::filesystem::path& folder, const std::string& sender);
/// Appends the facts to the report and writes both.
Result<void> write_report(const std::filesystem::path& folder, const ReportFacts& facts,
                          std::vector<std::byte> report);
/// The facts, if every byte of the file is as it was written.
Result<ReportFacts> check_report(const std::filesystem::path& file);

struct BatchFacts {
  std::vector<std::string> senders;
  std::uint64_t minimum = 0;  // sound reports below which nothing leaves
  std::array<std::uint64_t, 4> key{};
};
/// Whether anything of the closed batch may have left; noted before its first chunk goes.
bool has_begun(const std::filesystem::path& folder);
Result<void> note_begun(const std::filesystem::path& folder);
bool has_batch(const std::filesystem::path& folder);
Result<BatchFacts> read_batch(const std::filesystem::path& folder);
Result<void> write_batch(const std::filesystem::path& folder, const BatchFacts& batch);

Result<void> write_other(const std::filesystem::path& round, const std::string& sender,
                         const std::string& contract, std::uint32_t group);
/// By sender.
std::map<std::string, Asked> read_others(const std::filesystem::path& round);

}  // namespace sotto::rpc::spool_files
