#include "report/report.h"

#include "base/file.h"
#include "record/claim_json.h"
#include "record/fields.h"
#include "report/html.h"

namespace sotto {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const std::optional<Outcome>& outcome) {
  if (!outcome) return nullptr;
  return {{"round", outcome->round},
          {"accuracy", or_null(outcome->accuracy)},
          {"loss", or_null(outcome->loss)}};
}

Json json_of(const RecordedRound& round) {
  return {{"round", round.round},
          {"clients", round.clients},
          {"refused", round.refused},
          {"reports", round.reports},
          {"released", round.released},
          {"accuracy", or_null(round.accuracy)},
          {"loss", or_null(round.loss)},
          {"round_seconds", round.round_seconds},
          {"train_seconds", round.train_seconds},
          {"evaluate_seconds", round.evaluate_seconds},
          {"bytes_up", round.bytes_up}};
}

Json json_of(const Claim& claim) { return claim_json<Json>(claim); }

template <class T>
Json list(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(json_of(item));
  return array;
}

Json json_of(const RunRecord& run) {
  Json timings = Json::object();
  for (const auto& [name, seconds] : run.timings) timings[name] = seconds;
  return {{"name", run.name},
          {"folder", run.folder.string()},
          {"status", name_of(run.status)},
          {"stopped", run.stopped ? Json(*run.stopped) : Json(nullptr)},
          {"started", run.started},
          {"seed", run.seed},
          {"model", {{"name", run.model}, {"parameters", run.parameters}, {"device", run.device}}},
          {"data",
           {{"name", run.data},
            {"train", run.train_samples},
            {"test", run.test_samples},
            {"clients", run.clients},
            {"partition", run.partition}}},
          {"timings", timings},
          {"final", json_of(run.final)},
          {"best", json_of(run.best)},
          {"privacy",
           {{"mechanism", run.mechanism},
            {"planned", run.planned_claims},
            {"coins", run.coins.empty() ? Json(nullptr) : Json(run.coins)},
            {"protects", run.coins.empty() ? Json(nullptr) : Json(run.protects)},
            {"claims", list(run.claims)}}},
          {"notes", run.notes},
          {"rounds", list(run.rounds)}};
}

}  // namespace

Result<std::vector<RunRecord>> read_runs(const std::vector<std::filesystem::path>& folders) {
  std::vector<RunRecord> runs;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code code;
      if (std::filesystem::equivalent(folders[i], folders[j], code)) {
        return fail(ErrorKind::kUsage, folders[i].string() + ": this run is named twice");
      }
    }
    SOTTO_TRY(RunRecord run, read_run(folders[i]));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::filesystem::path default_report_path(const std::vector<std::filesystem::path>& folders) {
  constexpr std::string_view kName = "report.html";
  return folders.size() == 1 ? folders.front() / kName : std::filesystem::path(kName);
}

Result<std::filesystem::path> write_report(const std::vector<std::filesystem::path>& folders,
                                           const std::filesystem::path& out,
                                           const std::string& title) {
  SOTTO_TRY(const std::vector<RunRecord> runs, read_runs(folders));
  const std::filesystem::path target = out.empty() ? default_report_path(folders) : out;
  SOTTO_CHECK(write_file_atomically(target, render_report(runs, title)));
  return target;
}

std::string report_json(const std::vector<RunRecord>& runs) {
  Json records = Json::array();
  for (const RunRecord& run : runs) records.push_back(json_of(run));
  const Json json = {{"format", "sotto.report.v1"}, {"runs", std::move(records)}};
  // Folder names may hold any bytes; JSON may not.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace sotto
