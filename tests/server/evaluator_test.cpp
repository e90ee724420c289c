// The order in which test samples are evaluated.
#include "server/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sotto {
namespace {

TEST(EvaluationOrder, HasEverySampleOnce) {
  for (const std::size_t samples : {1U, 2U, 3U, 10U, 256U, 7919U, 7920U, 9999U, 10000U}) {
    std::vector<std::uint32_t> order = evaluation_order(samples);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> expected(samples);
    std::iota(expected.begin(), expected.end(), 0U);
    EXPECT_EQ(order, expected) << samples;
  }
}

TEST(EvaluationOrder, MixesASetThatIsSortedByClass) {
  constexpr std::size_t kBatch = 256;
  for (const std::size_t samples : {2560U, 7920U, 10000U, 26032U}) {
    const std::vector<std::uint32_t> order = evaluation_order(samples);
    for (std::size_t first = 0; first + kBatch <= samples; first += kBatch) {
      std::array<int, 10> counts{};
      for (std::size_t i = first; i < first + kBatch; ++i) {
        ++counts[order[i] * counts.size() / samples];
      }
      // A tenth of a batch is 25.6: the classes of a shuffled set would vary by 4.8.
      EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 20) << samples << ' ' << first;
      EXPECT_LE(*std::max_element(counts.begin(), counts.end()), 32) << samples << ' ' << first;
    }
  }
}

}  // namespace
}  // namespace sotto
