// Learning alone: every client trains a model of its own on its own data and shares nothing. The
// baseline that federation must beat.
//
// A round is `train.epochs` more passes of every client. The simulation keeps all clients' weights
// between rounds, which no party of a real federation would: memory is clients times weights.
#pragma once

#include "record/run_folder.h"
#include "server/setup.h"
#include "sotto/federation.h"

namespace sotto {

/// Metrics are means over clients of the accuracy on the public test set, with the lowest and the
/// highest. There is no model to save and nothing to certify.
Result<RunResult> learn_alone(const Recipe& recipe, const RunOptions& options, const Setup& setup,
                              const RunFolder& folder, const std::string& started);

}  // namespace sotto
