// The rounds of which the server has opened reports, on disk before it opens the first.
//
// A server that is killed in a round goes on from its checkpoint, which knows nothing of that
// round. Where the round is then given nothing, what was opened before would be missing from the
// claims.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "sotto/result.h"
#include "sotto/stages.h"

namespace sotto::rpc {

class OpenedRounds {
 public:
  /// What `file` remembers; a line that was cut short was never acted on. kCorrupt: no such list.
  static Result<OpenedRounds> open(const std::filesystem::path& file);

  /// Lasts when it returns; nothing may be opened where it fails.
  Result<void> add(RoundId round, std::size_t group);
  bool has(RoundId round, std::size_t group) const { return rounds_.contains({round, group}); }

 private:
  std::set<std::pair<RoundId, std::size_t>> rounds_;
  std::optional<AppendedFile> file_;
};

}  // namespace sotto::rpc
