// The files of a run: run.json, metrics.jsonl, checkpoint.sotto, model.pt, certificate.json. Each
// is replaced atomically, so a run that was killed leaves a folder that --resume and `sotto report`
// can read. The ledger of a run lies beside them and is opened by whoever starts the run.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/lock.h"
#include "server/checkpoint.h"
#include "sotto/federation.h"

namespace sotto {

class RunFolder {
 public:
  /// A folder that exists with a run in it is refused unless it is to be resumed or replaced, and
  /// one in which another process runs in any case.
  static Result<RunFolder> open(const RunOptions& options);
  /// Keeps other runs out of the folder; open() takes it unless the caller has it.
  static Result<UseLock> lock(const std::filesystem::path& out);

  /// Removes what an earlier run left, unless it is to be resumed: it must not be taken for this
  /// run's. Called when everything else is ready, so that a mistake in a recipe destroys nothing.
  Result<void> clear() const;

  /// The checkpoint to go on from, if one is asked for and there is one. Refuses one of another
  /// recipe or network.
  /// It holds `models` models of that layout.
  Result<std::optional<Checkpoint>> resume(const Recipe& recipe, const Layout& layout,
                                           std::size_t models = 1) const;

  Result<void> write_record(const nlohmann::json& record) const;
  Result<void> write_metrics(const std::vector<RoundMetrics>& rounds) const;
  Result<void> write_checkpoint(const Checkpoint& checkpoint) const;

  std::filesystem::path model_path() const;
  std::filesystem::path certificate_path() const;
  bool writes() const { return !out_.empty(); }

 private:
  Result<void> check_no_remains() const;
  Result<void> check_no_checkpoint_yet(const Recipe& recipe) const;
  RunFolder(std::filesystem::path out, bool resumes) : out_(std::move(out)), resumes_(resumes) {}
  std::filesystem::path out_;
  bool resumes_;
  std::optional<UseLock> lock_;
};

}  // namespace sotto
