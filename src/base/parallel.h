// A loop over several threads. Indices are handed out one by one, so uneven work balances itself;
// what a caller computes must not depend on which lane got which index.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "sotto/result.h"

namespace sotto {

/// As many threads as were asked for; 0: as many as the machine has.
inline unsigned thread_count(unsigned requested) {
  return requested > 0 ? requested : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls body(lane, index) -> Result<void> for every index below count, on `lanes` threads at most
/// (the caller's is one of them). After an error no higher index is begun; the error of the lowest
/// index is returned, whatever the timing.
template <class Body>
Result<void> parallel_for(unsigned lanes, std::size_t count, Body&& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> first_bad{count};
  std::mutex mutex;
  Error error;
  const auto work = [&](unsigned lane) {
    for (std::size_t index = next++; index < first_bad; index = next++) {
      Result<void> result = body(lane, index);
      if (result) continue;
      const std::scoped_lock lock(mutex);
      if (index < first_bad) {
        first_bad = index;
        error = std::move(result).error();
      }
    }
  };
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(lanes, count));
  {
    std::vector<std::jthread> others;
    for (unsigned lane = 1; lane < threads; ++lane) others.emplace_back(work, lane);
    work(0);
  }
  if (first_bad < count) return tl::unexpected<Error>(std::move(error));
  return {};
}

}  // namespace sotto
