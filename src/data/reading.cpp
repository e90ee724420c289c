#include "data/reading.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace sotto {
namespace {

std::string number_text(double value) {
  const std::string text = std::to_string(value);
  if (value != std::floor(value) || text.size() > 20) return text;
  return text.substr(0, text.find('.'));
}

}  // namespace

Result<std::int32_t> to_label(double value) {
  if (!(value >= 0 && value < static_cast<double>(kMostClasses)) || value != std::floor(value)) {
    return corrupt("label " + number_text(value) + ", expected a whole number from 0 to " +
                   std::to_string(kMostClasses - 1));
  }
  return static_cast<std::int32_t>(value);
}

std::int32_t count_classes(std::span<const std::int32_t> labels) {
  return labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
}

Result<void> for_each_in_parallel(std::size_t count,
                                  const std::function<Result<void>(std::size_t)>& work) {
  constexpr std::size_t kChunk = 64;
  constexpr std::size_t kMostThreads = 8;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> first_bad{std::numeric_limits<std::size_t>::max()};
  std::mutex mutex;
  Error error;

  const auto run_one = [&](std::size_t i) {
    const auto done = guarded("", [&] { return work(i); });
    if (done) return;
    const std::lock_guard lock(mutex);
    if (i < first_bad) {
      first_bad = i;
      error = done.error();
    }
  };
  const auto run = [&] {
    for (;;) {
      const std::size_t begin = next.fetch_add(kChunk);
      if (begin >= count) return;
      const std::size_t end = std::min(begin + kChunk, count);
      for (std::size_t i = begin; i < end && i < first_bad; ++i) run_one(i);
    }
  };

  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = std::min({cores, kMostThreads, count / kChunk + 1});
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(wanted);
    while (helpers.size() + 1 < wanted) helpers.emplace_back(run);
    run();
  }
  if (first_bad < count) return tl::unexpected<Error>(std::move(error));
  return {};
}

}  // namespace sotto
