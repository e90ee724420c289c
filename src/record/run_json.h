// What run.json says of a run, while it goes on and when it has ended. run_record.h reads it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "record/run_status.h"
#include "server/setup.h"
#include "sotto/federation.h"

namespace sotto {

struct RunFacts {
  const Recipe& recipe;
  const Setup& setup;
  const RunResult& result;
  RunStatus status = RunStatus::kRunning;
  std::string started;
  std::optional<LedgerHead> ledger;  // where the ledger ends now
  unsigned ranks = 1;
  Coins coins = Coins::kSimulation;
};

nlohmann::json run_json(const RunFacts& facts);

}  // namespace sotto
