#include "server/coordinator/traffic.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "identity/box.h"
#include "shuffle/report_form.h"

namespace sotto::rpc {
namespace {

/// Of a chunk in a message: position, lengths, HTTP/2 frame.
constexpr std::uint64_t kFraming = 24;
constexpr int kTrials = 8;
/// Beyond so many seconds a round, sealing is worth a word.
constexpr double kManySeconds = 10.0;
constexpr double kManyTimes = 8.0;

struct BoxSeconds {
  double seal = 0.0;
  double open = 0.0;
};

Result<BoxSeconds> measure(std::size_t bytes) {
  const identity::SealKey key = identity::SealKey::generate();
  const std::vector<unsigned char> plain(bytes);
  std::vector<unsigned char> box(bytes + identity::kBoxOverhead);
  std::vector<unsigned char> opened(bytes);
  const Stopwatch sealing;
  for (int i = 0; i < kTrials; ++i) {
    if (!identity::seal_box(plain, key.public_key, box)) {
      return fail(ErrorKind::kInternal, "a fresh key seals nothing");
    }
  }
  BoxSeconds seconds;
  seconds.seal = sealing.seconds() / kTrials;
  const Stopwatch opening;
  for (int i = 0; i < kTrials; ++i) {
    if (!identity::open_box(box, key, opened)) {
      return fail(ErrorKind::kInternal, "a sealed box does not open");
    }
  }
  seconds.open = opening.seconds() / kTrials;
  return seconds;
}

}  // namespace

Result<Traffic> traffic_of(const RoundPlan& plan, std::size_t weights) {
  Traffic traffic;
  traffic.clients = plan.clients();
  traffic.bytes_down = weights * sizeof(float);
  for (const ClientGroup& group : plan.groups) {
    SOTTO_TRY(const ReportForm form, ReportForm::make(group.parts, plan.split));
    SOTTO_TRY(const BoxSeconds box, measure(form.sealed_bytes() - identity::kBoxOverhead));
    const std::uint64_t chunks = form.chunks();
    const std::uint64_t boxes = chunks * group.clients.size();
    traffic.boxes += boxes;
    traffic.open_seconds += static_cast<double>(boxes) * box.open;
    traffic.chunks = std::max(traffic.chunks, chunks);
    traffic.bytes_up = std::max(traffic.bytes_up, chunks * (form.sealed_bytes() + kFraming));
    traffic.seal_seconds = std::max(traffic.seal_seconds, static_cast<double>(chunks) * box.seal);
    std::uint64_t bits = 0;
    for (const Part& part : group.parts) {
      bits += std::uint64_t{part.mechanism->outputs()} * part.mechanism->symbol_bits();
    }
    traffic.payload = std::max(traffic.payload, bits / 8 + 1);
  }
  return traffic;
}

std::string Traffic::warning(std::size_t split) const {
  const double times = static_cast<double>(bytes_up) / static_cast<double>(payload);
  const double slowest = std::max(seal_seconds, open_seconds);
  if (split == 0 || (slowest < kManySeconds && (times < kManyTimes || bytes_up < (1U << 20)))) {
    return "";
  }
  return "shuffle.split = " + std::to_string(split) + ": every round takes " +
         short_number(seal_seconds) + " s of sealing for a client and " +
         short_number(open_seconds) + " s of opening for the server, and " + short_number(times) +
         " times the bytes of the bare symbols; a larger split costs less and mixes larger pieces";
}

}  // namespace sotto::rpc
