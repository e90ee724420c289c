#include "scale_model.h"

#include <bit>

namespace sotto::cli {

double exchange_seconds(const RoundWork& work, const Link& link, unsigned ranks) {
  if (ranks < 2) return 0.0;
  constexpr double kMessages = 4.0;  // task, done, add, and the next evaluation's
  constexpr double kClientBytes = 4.0;
  constexpr double kWeightBytes = 4.0 + 8.0;  // of the model, and of the sums
  const auto clients = static_cast<double>(work.clients) / ranks;
  const auto weights = static_cast<double>(work.weights);
  const auto levels = static_cast<double>(std::bit_width(ranks - 1));
  return (ranks - 1.0) *
             (kMessages * link.message_seconds + kClientBytes * clients / link.bytes_per_second) +
         levels * (2.0 * link.message_seconds + kWeightBytes * weights / link.bytes_per_second);
}

double round_seconds(const RoundWork& work, const Link& link, unsigned ranks) {
  const std::size_t most = (work.clients + ranks - 1) / ranks;
  return work.compute_seconds * static_cast<double>(most) / static_cast<double>(work.clients) +
         exchange_seconds(work, link, ranks);
}

double efficiency(const RoundWork& work, const Link& link, unsigned ranks) {
  return work.compute_seconds / (ranks * round_seconds(work, link, ranks));
}

}  // namespace sotto::cli
