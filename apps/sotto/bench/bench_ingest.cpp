#include "bench_ingest.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "server/intake.h"
#include "shuffle/report_form.h"

namespace sotto::cli {

Result<IngestFloor> measure_ingest_floor(const RoundPlan& plan, const rpc::LoadReport& report,
                                         const identity::SealKey& key) {
  constexpr int kTurns = 24;
  SOTTO_TRY(const rpc::ReportForm form,
            rpc::ReportForm::make(plan.groups.front().parts, plan.split));
  const std::string task = rpc::task_name(report.invitation.recipe_hash, report.invitation.run);
  const identity::ChunkPlan chunks{task, plan.round, form.largest_envelope()};
  SOTTO_TRY(Intake sums, Intake::make(plan));
  IngestFloor floor{1e9, 1e9};
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<Envelope> envelopes;
    envelopes.reserve(form.chunks());
    const Stopwatch opening;
    for (std::size_t i = 0; i < form.chunks(); ++i) {
      SOTTO_TRY(Envelope envelope, rpc::open_chunk(report.sealed[i], chunks, form.chunk(i), key));
      envelopes.push_back(std::move(envelope));
    }
    floor.open_seconds = std::min(floor.open_seconds, opening.seconds());
    const Stopwatch adding;
    for (const Envelope& envelope : envelopes) SOTTO_CHECK(sums.accept(envelope));
    floor.add_seconds = std::min(floor.add_seconds, adding.seconds());
  }
  return floor;
}

}  // namespace sotto::cli
