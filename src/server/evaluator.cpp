#include "server/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace sotto {
namespace {

constexpr std::size_t kChunk = 512;

}  // namespace

std::vector<std::uint32_t> evaluation_order(std::size_t samples) {
  // A share of the set that no small fraction comes near, so that 256 steps of it go everywhere.
  constexpr double kShare = 0.7919;
  auto stride = static_cast<std::size_t>(std::llround(kShare * static_cast<double>(samples)));
  while (std::gcd(stride, samples) > 1) ++stride;
  std::vector<std::uint32_t> order(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    order[i] = static_cast<std::uint32_t>(i * stride % samples);
  }
  return order;
}

std::size_t Evaluator::chunks() const { return (test_.size() + kChunk - 1) / kChunk; }

Result<std::vector<EvaluationSums>> Evaluator::evaluate_share(std::span<const float> model,
                                                              Share share) {
  const std::vector<std::uint32_t> all = evaluation_order(test_.size());
  const std::size_t mine =
      share.first < chunks() ? (chunks() - share.first + share.of - 1) / share.of : 0;
  std::vector<EvaluationSums> sums(mine);
  for (unsigned lane = 0; lane < trainers_.size(); ++lane) {
    SOTTO_CHECK(trainers_[lane].load(model));
  }
  SOTTO_CHECK(
      parallel_for(trainers_.size(), mine, [&](unsigned lane, std::size_t i) -> Result<void> {
        const std::size_t first = (share.first + i * share.of) * kChunk;
        const auto part = std::span(all).subspan(first, std::min(kChunk, all.size() - first));
        SOTTO_TRY(sums[i], trainers_[lane].evaluate(test_, part, preprocess_));
        return {};
      }));
  return sums;
}

Result<EvaluationSums> Evaluator::evaluate(std::span<const float> model) {
  SOTTO_TRY(const std::vector<EvaluationSums> sums, evaluate_share(model, {}));
  // Added chunk by chunk in order, so that the loss does not depend on the number of threads.
  EvaluationSums total;
  for (const EvaluationSums& part : sums) total.add(part);
  return total;
}

}  // namespace sotto
