// Run folders in, a page or JSON out: what `sotto report` and `sotto demo` call.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace sotto {

/// The runs in this order. An error where a folder is not a run or is named twice.
Result<std::vector<RunRecord>> read_runs(const std::vector<std::filesystem::path>& folders);

/// Where a page goes that nobody gave a place: into the folder of the one run, or here.
std::filesystem::path default_report_path(const std::vector<std::filesystem::path>& folders);

/// Reads the runs, writes the page atomically and says where it lies. `out` empty:
/// default_report_path.
Result<std::filesystem::path> write_report(const std::vector<std::filesystem::path>& folders,
                                           const std::filesystem::path& out = {},
                                           const std::string& title = "");

/// {"format":"sotto.report.v1","runs":[{"name":...,"final":...,"best":...,"privacy":...,
/// "rounds":[...]}]}, with null for an infinite epsilon as in run.json.
std::string report_json(const std::vector<RunRecord>& runs);

}  // namespace sotto
