// What a run claims of its clients' privacy, and the certificate of it.
#pragma once

#include "plan/budget.h"
#include "record/run_folder.h"
#include "server/setup.h"

namespace sotto {

/// Fills in the claims of every group, from its exposure.
void claim_groups(const Recipe& recipe, const Setup& setup, std::vector<GroupClaims>& groups);

/// Signs what the group was exposed to, with the key of the options or one that is made for it, and
/// writes it to the run's folder.
Result<void> certify_run(const RunFolder& folder, const Recipe& recipe, const RunOptions& options,
                         const GroupClaims& group, const Budget& budget);

}  // namespace sotto
