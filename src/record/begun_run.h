// Of a run's folder only what decides whether the run is done: cheaper than run_record.h, which
// checks everything that a report shows.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "record/run_status.h"
#include "sotto/result.h"

namespace sotto {

struct BegunRun {
  RunStatus status = RunStatus::kRunning;
  nlohmann::json recipe;
};

/// Nothing where the folder has no run.json. kCorrupt: it has one that is not a run's record.
Result<std::optional<BegunRun>> read_begun(const std::filesystem::path& folder);

}  // namespace sotto
