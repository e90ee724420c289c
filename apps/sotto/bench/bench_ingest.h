// What bounds the speed of a server from below.
#pragma once

#include "sotto/federation.h"
#include "sotto/sealed.h"
#include "transport/grpc/synthetic_load.h"

namespace sotto::cli {

/// Processor seconds that no way to take a report can leave out: opening its boxes, and adding its
/// symbols. On one thread, one report after the other, in warm caches.
struct IngestFloor {
  double open_seconds = 0.0;
  double add_seconds = 0.0;
};
Result<IngestFloor> measure_ingest_floor(const RoundPlan& plan, const rpc::LoadReport& report,
                                         const identity::SealKey& key);

}  // namespace sotto::cli
