#include "record/run_folder.h"

#include <algorithm>

#include "base/file.h"

namespace sotto {
namespace {

constexpr const char* kLock = "run.lock";
constexpr const char* kRecord = "run.json";
constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kCheckpoint = "checkpoint.sotto";
constexpr const char* kModel = "model.pt";
constexpr const char* kPlainModel = "model.safetensors";  // of a program without LibTorch
constexpr const char* kCertificate = "certificate.json";
/// What SQLite and the ledger's head keep beside the ledger itself.
constexpr const char* kLedgerFiles[] = {"", "-wal", "-shm", "-journal", ".head"};

}  // namespace

Result<UseLock> RunFolder::lock(const std::filesystem::path& out) {
  return UseLock::take(out / kLock, "the folder of this run");
}

Result<RunFolder> RunFolder::open(const RunOptions& options) {
  RunFolder folder(options.out, options.resume);
  if (!folder.writes()) return folder;
  if (!options.out_locked) {
    SOTTO_TRY(folder.lock_, lock(options.out));
  }
  std::error_code code;
  const bool holds_run = std::filesystem::exists(options.out / kRecord, code);
  if (holds_run && !options.resume && !options.replace) {
    return fail(ErrorKind::kUsage, options.out.string() +
                                       ": already holds a run; give --resume to go on with it, "
                                       "--replace to start over, or another --out");
  }
  if (options.resume && !holds_run) {
    return fail(ErrorKind::kUsage, options.out.string() + ": holds no run to resume");
  }
  if (!options.replace && !holds_run) SOTTO_CHECK(folder.check_no_remains());
  return folder;
}

/// These are written after run.json, so without it somebody has lost or moved it.
Result<void> RunFolder::check_no_remains() const {
  for (const char* const name : {kCheckpoint, kModel, kPlainModel, kCertificate}) {
    std::error_code code;
    if (!std::filesystem::exists(out_ / name, code)) continue;
    return fail(ErrorKind::kUsage, out_.string() + ": has " + name + " of a run whose " + kRecord +
                                       " is missing; put it back to go on with that run, or give "
                                       "--replace to start over or another --out");
  }
  return {};
}

/// A checkpoint is written before the rounds that it has are listed, and before the model: where
/// these are there without it, somebody has lost or moved it.
Result<void> RunFolder::check_no_checkpoint_yet(const Recipe& recipe) const {
  std::error_code code;
  bool lost = false;
  for (const char* const name : {kModel, kPlainModel, kCertificate}) {
    lost = lost || std::filesystem::exists(out_ / name, code);
  }
  if (!lost && std::filesystem::exists(out_ / kMetrics, code)) {
    SOTTO_TRY(const std::string metrics, read_text(out_ / kMetrics));
    const auto rounds = std::ranges::count(metrics, '\n');
    lost = rounds >= std::min(recipe.output.checkpoint_every, recipe.federation.rounds);
  }
  if (!lost) return {};
  return fail(ErrorKind::kUsage, out_.string() + ": " + kCheckpoint +
                                     " of this run is missing; put it back to go on with it, or "
                                     "give --replace to start over or another --out");
}

Result<void> RunFolder::clear() const {
  if (!writes() || resumes_) return {};
  std::vector<std::string> names = {kCheckpoint, kMetrics, kModel, kPlainModel, kCertificate};
  for (const char* part : kLedgerFiles) names.push_back(kLedgerName + std::string(part));
  for (const std::string& name : names) {
    std::error_code code;
    std::filesystem::remove(out_ / name, code);
    if (code) return fail(ErrorKind::kIo, (out_ / name).string() + ": " + code.message());
  }
  return {};
}

std::filesystem::path RunFolder::model_path() const { return out_ / kModel; }
std::filesystem::path RunFolder::certificate_path() const { return out_ / kCertificate; }

Result<std::optional<Checkpoint>> RunFolder::resume(const Recipe& recipe, const Layout& layout,
                                                    std::size_t models) const {
  const std::filesystem::path path = out_ / kCheckpoint;
  if (!resumes_) return std::optional<Checkpoint>();
  if (!std::filesystem::exists(path)) {
    // Killed before the first checkpoint: start from the beginning, which gives the same model.
    SOTTO_CHECK(check_no_checkpoint_yet(recipe));
    return std::optional<Checkpoint>();
  }
  SOTTO_TRY(Checkpoint checkpoint, read_checkpoint(path));
  if (checkpoint.recipe != recipe.fingerprint()) {
    return fail(ErrorKind::kUsage,
                path.string() +
                    ": was made by a recipe that differs in more than rounds, "
                    "patience, account or output; resume with the recipe of that run");
  }
  if (checkpoint.layout != layout.fingerprint() ||
      checkpoint.weights.size() != models * layout.size()) {
    return fail(ErrorKind::kCorrupt, path.string() + ": holds another network's weights");
  }
  const auto rounds = static_cast<std::size_t>(recipe.federation.rounds);
  if (checkpoint.rounds.size() > rounds) {
    return fail(ErrorKind::kUsage,
                path.string() + ": has done " + std::to_string(checkpoint.rounds.size()) +
                    " rounds, and federation.rounds = " + std::to_string(rounds) +
                    "; a run that is resumed can have more rounds, not fewer");
  }
  return std::optional<Checkpoint>(std::move(checkpoint));
}

Result<void> RunFolder::write_record(const nlohmann::json& record) const {
  if (!writes()) return {};
  return write_file_atomically(out_ / kRecord, record.dump(2) + '\n');
}

Result<void> RunFolder::write_metrics(const std::vector<RoundMetrics>& rounds) const {
  if (!writes()) return {};
  std::string text;
  for (const RoundMetrics& metrics : rounds) text += metrics.to_json().dump() + '\n';
  return write_file_atomically(out_ / kMetrics, text);
}

Result<void> RunFolder::write_checkpoint(const Checkpoint& checkpoint) const {
  if (!writes()) return {};
  return sotto::write_checkpoint(out_ / kCheckpoint, checkpoint);
}

}  // namespace sotto
