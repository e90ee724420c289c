#include "audit/looks.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr double kEarlyShare = 0.1;

}  // namespace

std::vector<Look> looks_of(std::uint64_t trials, double confidence, bool early,
                           std::uint64_t first) {
  const double error = 1.0 - confidence;
  std::vector<Look> looks;
  if (early) {
    for (std::uint64_t at = std::max<std::uint64_t>(1, first); at < trials; at *= 2) {
      looks.push_back({at, 0.0});
    }
  }
  for (Look& look : looks) look.error = kEarlyShare * error / static_cast<double>(looks.size());
  looks.push_back({trials, looks.empty() ? error : (1.0 - kEarlyShare) * error});
  return looks;
}

}  // namespace sotto
