// A loop over several threads. Indices are handed out one by one, so uneven work balances itself;
// what a caller computes must not depend on which lane got which index.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sotto/result.h"

namespace sotto {

/// Calls body(lane, index) -> Result<void> for every index below count, on `lanes` threads at most
/// (the caller's is one of them). The first error stops the loop and is returned.
template <class Body>
Result<void> parallel_for(unsigned lanes, std::size_t count, Body&& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> error;
  const auto work = [&](unsigned lane) {
    for (std::size_t index = next++; index < count; index = next++) {
      if (Result<void> result = body(lane, index); !result) {
        next = count;
        const std::scoped_lock lock(mutex);
        if (!error) error = std::move(result).error();
      }
    }
  };
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(lanes, count));
  {
    std::vector<std::jthread> others;
    for (unsigned lane = 1; lane < threads; ++lane) others.emplace_back(work, lane);
    work(0);
  }
  if (error) return tl::unexpected<Error>(std::move(*error));
  return {};
}

}  // namespace sotto
