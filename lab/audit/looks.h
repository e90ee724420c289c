// When an audit looks at its counts, and what each look may err.
//
// A test that stops at the first moment which looks like a violation errs far more often than its
// confidence says. Here the looks are fixed beforehand, at numbers of trials that double, and the
// error is divided among them: by the union bound, the probability that the bound of *any* look
// exceeds the truth is at most the sum of their errors, which is 1 - confidence. So the bound of
// the look at which an audit stops holds with that confidence, whatever made it stop. Nine tenths
// of the error belong to the last look: an audit that never stops early loses almost nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto {

struct Look {
  std::uint64_t trials = 0;  // of either input
  double error = 0.0;        // 1 - its confidence
};

/// Looks after first, 2 first, 4 first, ... trials and after `trials`; one alone where `early` is
/// false or `trials` no more than `first`.
std::vector<Look> looks_of(std::uint64_t trials, double confidence, bool early,
                           std::uint64_t first);

}  // namespace sotto
