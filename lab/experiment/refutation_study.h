// The table of refutations: claimed, measured and exact, as JSON, CSV and a picture. Rows of the
// experiment's entry are names of cases (audit/refutations.h).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiment/registry.h"
#include "refutation/refutations.h"
#include "report/chart.h"

namespace sotto {

/// `progress` hears the name of the case that is begun and how many there are.
Result<std::vector<Refutation>> measure_refutations(
    const Experiment& experiment, const RefutationPlan& plan,
    const std::function<void(std::uint64_t done, std::uint64_t total, const std::string& name)>&
        progress);

nlohmann::ordered_json refutations_json(const Experiment& experiment,
                                        const std::vector<Refutation>& rows,
                                        const RefutationPlan& plan);
std::string refutations_csv(const std::vector<Refutation>& rows);
/// One line for each case, from what is claimed over what was measured to what is exact.
LineChart refutations_chart(const Experiment& experiment, const std::vector<Refutation>& rows);

}  // namespace sotto
