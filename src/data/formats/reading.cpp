#include "data/formats/reading.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/parallel.h"

namespace sotto {
namespace {

std::string number_text(double value) {
  std::string text = std::to_string(value);
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
  constexpr unsigned kMostThreads = 8;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return parallel_for(std::min(cores, kMostThreads), count, [&](unsigned, std::size_t i) {
    return guarded("", [&] { return work(i); });
  });
}

}  // namespace sotto
