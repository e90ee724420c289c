// Experiments that audit, for `sotto reproduce`.
#pragma once

#include "reproduction.h"

namespace sotto::cli {

Result<Reproduced> reproduce_audit(const Experiment& experiment, const ReproduceOptions& options);

/// "here", or the set that is missing.
std::string audit_data_state(const Experiment& experiment, const std::filesystem::path& folder);

}  // namespace sotto::cli
