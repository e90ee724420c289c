// Runs as one HTML page: self-contained, without scripts, with nothing to fetch from anywhere.
//
// The page forbids itself any request by its content security policy, so a report can be mailed
// and opened without telling anybody. Pure functions of the records.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace sotto {

/// `title` is the page's heading; empty: one is made from the runs.
std::string render_report(const std::vector<RunRecord>& runs, const std::string& title = "");

/// A different name for every run: its own, with the folder behind it where two runs share one.
std::vector<std::string> run_labels(const std::vector<RunRecord>& runs);

}  // namespace sotto
