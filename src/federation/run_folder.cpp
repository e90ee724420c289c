#include "federation/run_folder.h"

#include "base/file.h"

namespace sotto {
namespace {

constexpr const char* kRecord = "run.json";
constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kCheckpoint = "checkpoint.sotto";
constexpr const char* kModel = "model.pt";
constexpr const char* kCertificate = "certificate.json";
/// What SQLite and the ledger's head keep beside the ledger itself.
constexpr const char* kLedgerFiles[] = {"", "-wal", "-shm", "-journal", ".head"};

}  // namespace

Result<RunFolder> RunFolder::open(const RunOptions& options) {
  RunFolder folder(options.out, options.resume);
  if (!folder.writes()) return folder;
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
  return folder;
}

Result<void> RunFolder::clear() const {
  if (!writes() || resumes_) return {};
  std::vector<std::string> names = {kCheckpoint, kMetrics, kModel, kCertificate};
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
  // Killed before the first checkpoint: start from the beginning, which gives the same model.
  if (!resumes_ || !std::filesystem::exists(path)) return std::optional<Checkpoint>();
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
