#include "federation/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace sotto {

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

Result<EvaluationSums> evaluate_model(LocalTransport& transport, const Dataset& test,
                                      const Preprocess& preprocess, std::span<const float> model) {
  constexpr std::size_t kChunk = 512;
  const std::vector<std::uint32_t> all = evaluation_order(test.size());
  const std::size_t chunks = (test.size() + kChunk - 1) / kChunk;
  std::vector<EvaluationSums> sums(chunks);
  for (unsigned lane = 0; lane < transport.lanes(); ++lane) {
    SOTTO_CHECK(transport.trainer(lane).load(model));
  }
  SOTTO_CHECK(
      parallel_for(transport.lanes(), chunks, [&](unsigned lane, std::size_t i) -> Result<void> {
        const std::size_t first = i * kChunk;
        const auto part = std::span(all).subspan(first, std::min(kChunk, all.size() - first));
        SOTTO_TRY(sums[i], transport.trainer(lane).evaluate(test, part, preprocess));
        return {};
      }));
  // Added chunk by chunk in order, so that the loss does not depend on the number of threads.
  EvaluationSums total;
  for (const EvaluationSums& part : sums) {
    total.samples += part.samples;
    total.correct += part.correct;
    total.loss += part.loss;
  }
  return total;
}

}  // namespace sotto
