#include "record/begun_run.h"

#include "base/file.h"

namespace sotto {

Result<std::optional<BegunRun>> read_begun(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "run.json";
  std::error_code code;
  if (!std::filesystem::exists(file, code)) return std::optional<BegunRun>();
  SOTTO_TRY(const std::string text, read_text(file));
  const nlohmann::json record = nlohmann::json::parse(text, nullptr, false);
  const auto wrong = [&] {
    return fail(ErrorKind::kCorrupt, file.string() + ": is not the record of a run");
  };
  if (!record.is_object() || !record.contains("recipe") || !record.contains("status")) {
    return wrong();
  }
  const auto* const name = record["status"].get_ptr<const std::string*>();
  const auto status = name == nullptr ? std::nullopt : value_in<RunStatus>(kRunStatusNames, *name);
  if (!status) return wrong();
  return std::optional(BegunRun{*status, record["recipe"]});
}

}  // namespace sotto
