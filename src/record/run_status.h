// What became of a run, as run.json names it.
#pragma once

#include "base/names.h"

namespace sotto {

enum class RunStatus { kRunning, kFinished, kFailed };

inline constexpr Name<RunStatus> kRunStatusNames[] = {{RunStatus::kRunning, "running"},
                                                      {RunStatus::kFinished, "finished"},
                                                      {RunStatus::kFailed, "failed"}};
inline std::string_view name_of(RunStatus status) {
  return name_in<RunStatus>(kRunStatusNames, status);
}

}  // namespace sotto
