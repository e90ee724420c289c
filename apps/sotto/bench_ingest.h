// What bounds the speed of a server from below, and how much memory it takes at most.
#pragma once

#include <cstdint>

#include "rpc/load.h"
#include "sotto/federation.h"
#include "sotto/sealed.h"

namespace sotto::cli {

/// Processor seconds that no way to take a report can leave out: opening its boxes, and adding its
/// symbols. On one thread, one report after the other, in warm caches.
struct IngestFloor {
  double open_seconds = 0.0;
  double add_seconds = 0.0;
};
Result<IngestFloor> measure_ingest_floor(const RoundPlan& plan, const rpc::LoadReport& report,
                                         const identity::SealKey& key);

/// The largest resident size since the last restart_peak(), in bytes.
std::uint64_t peak_resident_bytes();
void restart_peak();

}  // namespace sotto::cli
