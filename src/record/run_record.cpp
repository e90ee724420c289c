#include "record/run_record.h"

#include <algorithm>

#include "base/file.h"
#include "record/claim_json.h"
#include "record/fields.h"

namespace sotto {
namespace {

constexpr std::size_t kLargestRecord = std::size_t{8} << 20;
constexpr std::size_t kLargestMetrics = std::size_t{256} << 20;
constexpr std::size_t kMostRounds = 1'000'000;
constexpr std::size_t kMostClaims = 1'000;
constexpr double kLargest = 1e300;
constexpr double kLongestSeconds = 1e12;

std::string scalar_text(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Nested tables become dotted keys; a list stands on one line.
void flatten(const Json& value, const std::string& key, TextPairs& out) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      flatten(inner, key.empty() ? name : key + '.' + name, out);
    }
    return;
  }
  std::string text;
  if (value.is_array()) {
    for (const Json& item : value) text += (text.empty() ? "" : ", ") + scalar_text(item);
  } else {
    text = scalar_text(value);
  }
  out.emplace_back(key, std::move(text));
}

Result<std::vector<RecipeSection>> read_recipe(const Fields& recipe) {
  std::vector<RecipeSection> sections;
  RecipeSection top;  // keys that stand outside of any section
  for (const auto& [name, value] : recipe.json().items()) {
    if (value.is_object()) {
      RecipeSection section{name, {}};
      flatten(value, "", section.entries);
      sections.push_back(std::move(section));
    } else {
      flatten(value, name, top.entries);
    }
  }
  if (!top.entries.empty()) sections.insert(sections.begin(), std::move(top));
  return sections;
}

Result<std::vector<Claim>> read_claims(const Fields& privacy, bool typed) {
  SOTTO_TRY(const Json* const list, privacy.array("claims"));
  if (list->size() > kMostClaims) {
    return fail(ErrorKind::kCorrupt, privacy.place() + ": 'privacy.claims' has " +
                                         std::to_string(list->size()) + " entries, at most " +
                                         std::to_string(kMostClaims) + " are read");
  }
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string path = "claims[" + std::to_string(i) + ']';
    if (!(*list)[i].is_object()) {
      return tl::unexpected(privacy.wrong(path, "an object", (*list)[i]));
    }
    const Fields fields((*list)[i], privacy.place(), "privacy." + path + '.');
    SOTTO_TRY(Claim claim, read_claim(fields, typed));
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// "final" and "best": null, or missing while a run goes on, where nothing was evaluated yet.
Result<std::optional<Outcome>> read_outcome(const Fields& run, const char* key, bool finished) {
  if (!run.has(key)) {
    if (finished && !run.json().contains(key)) return tl::unexpected(run.object(key).error());
    return std::optional<Outcome>();
  }
  SOTTO_TRY(const Fields fields, run.object(key));
  Outcome outcome;
  SOTTO_TRY(outcome.round, fields.count("round"));
  SOTTO_TRY(outcome.accuracy, fields.number_or_null("accuracy", 0.0, 1.0));
  if (fields.has("loss")) {
    SOTTO_TRY(outcome.loss, fields.number_or_null("loss", -kLargest, kLargest));
  }
  return std::optional(outcome);
}

Result<void> read_model_and_data(const Fields& run, RunRecord& record) {
  SOTTO_TRY(const Fields model, run.object("model"));
  SOTTO_TRY(record.model, model.text("name"));
  SOTTO_TRY(record.parameters, model.count("parameters"));
  SOTTO_TRY(record.device, model.text("device"));
  SOTTO_TRY(const Fields data, run.object("data"));
  SOTTO_TRY(record.data, data.text("name"));
  SOTTO_TRY(record.train_samples, data.count("train"));
  SOTTO_TRY(record.test_samples, data.count("test"));
  SOTTO_TRY(record.clients, data.count("clients"));
  SOTTO_TRY(record.partition, data.text("partition"));
  return {};
}

Result<void> read_status(const Fields& run, RunRecord& record) {
  SOTTO_TRY(const std::string name, run.text("status"));
  const auto status = value_in<RunStatus>(kRunStatusNames, name);
  if (!status) {
    return tl::unexpected(run.wrong("status", "\"finished\", \"running\" or \"failed\"", name));
  }
  record.status = *status;
  if (run.has("stopped")) {
    SOTTO_TRY(record.stopped, run.text("stopped"));
  }
  return {};
}

Result<RunRecord> read_record(const std::filesystem::path& file) {
  SOTTO_TRY(const std::string text, read_text(file, kLargestRecord));
  SOTTO_TRY(const Json json, parse_json(text, file.string(), 1));
  const std::string place = file.string();
  if (!json.is_object()) return fail(ErrorKind::kCorrupt, place + ": not a JSON object");
  const Fields run(json, place);
  SOTTO_TRY(const std::string format, run.text("format"));
  if (format != kRunFormat && format != kOlderRunFormat) {
    return tl::unexpected(run.wrong(
        "format", '"' + std::string(kRunFormat) + "\" or \"" + std::string(kOlderRunFormat) + '"',
        format));
  }
  RunRecord record;
  SOTTO_TRY(record.name, run.text("name"));
  SOTTO_TRY(const Fields recipe, run.object("recipe"));
  SOTTO_TRY(record.recipe, read_recipe(recipe));
  SOTTO_TRY(record.recipe_file, run.text("recipe_file"));
  SOTTO_TRY(record.seed, run.count("seed"));
  SOTTO_TRY(record.threads, run.count("threads"));
  SOTTO_TRY(const Fields versions, run.object("versions"));
  flatten(versions.json(), "", record.versions);
  SOTTO_TRY(record.started, run.text("started"));
  if (run.has("machine")) {
    SOTTO_TRY(record.machine, run.text("machine"));
  }
  SOTTO_CHECK(read_status(run, record));
  SOTTO_CHECK(read_model_and_data(run, record));
  const bool finished = record.status == RunStatus::kFinished;
  if (finished || run.has("timings")) {
    SOTTO_TRY(const Fields timings, run.object("timings"));
    for (const auto& item : timings.json().items()) {
      SOTTO_TRY(const double seconds, timings.number(item.key().c_str(), 0.0, kLongestSeconds));
      record.timings.emplace_back(item.key(), seconds);
    }
  }
  SOTTO_TRY(record.final, read_outcome(run, "final", finished));
  SOTTO_TRY(record.best, read_outcome(run, "best", finished));
  SOTTO_TRY(const Fields privacy, run.object("privacy"));
  SOTTO_TRY(record.mechanism, privacy.text("mechanism"));
  SOTTO_TRY(record.claims, read_claims(privacy, format == kRunFormat));
  if (privacy.has("planned")) {
    SOTTO_TRY(record.planned_claims, privacy.flag("planned"));
  }
  if (privacy.has("coins")) {
    SOTTO_TRY(record.coins, privacy.text("coins"));
    SOTTO_TRY(record.protects, privacy.flag("protects"));
  }
  return record;
}

Result<RecordedRound> read_round(const Json& json, const std::string& place) {
  if (!json.is_object()) return fail(ErrorKind::kCorrupt, place + ": not a JSON object");
  const Fields fields(json, place);
  RecordedRound metrics;
  SOTTO_TRY(metrics.round, fields.count("round"));
  SOTTO_TRY(metrics.clients, fields.count("clients"));
  SOTTO_TRY(metrics.reports, fields.count("reports"));
  // Runs from before there were budgets and batches: all reports were released.
  metrics.released = metrics.reports;
  if (fields.has("refused")) {
    SOTTO_TRY(metrics.refused, fields.count("refused"));
  }
  if (fields.has("released")) {
    SOTTO_TRY(metrics.released, fields.count("released"));
  }
  SOTTO_TRY(metrics.accuracy, fields.number_or_null("accuracy", 0.0, 1.0));
  SOTTO_TRY(metrics.loss, fields.number_or_null("loss", -kLargest, kLargest));
  SOTTO_TRY(metrics.round_seconds, fields.number("round_seconds", 0.0, kLongestSeconds));
  SOTTO_TRY(metrics.train_seconds, fields.number("train_seconds", 0.0, kLongestSeconds));
  SOTTO_TRY(metrics.evaluate_seconds, fields.number("evaluate_seconds", 0.0, kLongestSeconds));
  SOTTO_TRY(metrics.bytes_up, fields.count("bytes_up"));
  return metrics;
}

Result<void> read_metrics(const std::filesystem::path& file, RunRecord& record) {
  SOTTO_TRY(const std::string text, read_text(file, kLargestMetrics));
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view content = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    // Only a line without its end can be one that was being written when the run broke off.
    const bool cut_off = end == std::string_view::npos && record.status != RunStatus::kFinished;
    const std::string place = file.string() + ':' + std::to_string(line);
    auto json = parse_json(content, file.string(), line);
    if (!json) {
      if (!cut_off) return tl::unexpected(json.error());
      record.notes.push_back(
          "Line " + std::to_string(line) +
          " of metrics.jsonl is incomplete and was left out: the run broke off there.");
      break;
    }
    SOTTO_TRY(const RecordedRound metrics, read_round(*json, place));
    if (!record.rounds.empty() && metrics.round <= record.rounds.back().round) {
      return fail(ErrorKind::kCorrupt, place + ": round " + std::to_string(metrics.round) +
                                           " comes after round " +
                                           std::to_string(record.rounds.back().round));
    }
    if (record.rounds.size() == kMostRounds) {
      return fail(ErrorKind::kCorrupt,
                  place + ": more than " + std::to_string(kMostRounds) + " rounds");
    }
    record.rounds.push_back(metrics);
  }
  return {};
}

/// For a folder without run.json: the runs that lie right below it, which may have been meant.
std::string runs_below(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (std::filesystem::exists(entry.path() / "run.json", code)) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) return " (`sotto run` writes one)";
  constexpr std::size_t kShown = 3;
  std::string text = "; runs below it:";
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) text += ' ' + found[i];
  return text + (found.size() > kShown ? " ..." : "");
}

}  // namespace

double RunRecord::total_seconds() const {
  for (const auto& [key, seconds] : timings) {
    if (key == "total_seconds") return seconds;
  }
  double sum = 0.0;
  for (const RecordedRound& round : rounds) sum += round.round_seconds;
  return sum;
}

std::uint64_t RunRecord::bytes_up() const {
  std::uint64_t sum = 0;
  for (const RecordedRound& round : rounds) sum += round.bytes_up;
  return sum;
}

Result<RunRecord> read_run(const std::filesystem::path& folder) {
  std::error_code code;
  if (!std::filesystem::is_directory(folder, code)) {
    return fail(ErrorKind::kNotFound, folder.string() + ": there is no such run folder");
  }
  if (!std::filesystem::exists(folder / "run.json", code)) {
    return fail(ErrorKind::kNotFound,
                folder.string() + ": not a run folder: it has no run.json" + runs_below(folder));
  }
  SOTTO_TRY(RunRecord record, read_record(folder / "run.json"));
  SOTTO_CHECK(read_metrics(folder / "metrics.jsonl", record));
  record.folder = folder;
  return record;
}

}  // namespace sotto
