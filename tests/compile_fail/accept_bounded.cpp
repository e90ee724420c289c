// expect: (cannot convert|no viable conversion from) 'const sotto::Bounded' to 'const
// sotto::Envelope An Aggregator takes envelopes and nothing that comes before them.
#include "sotto/aggregate.h"

void leak(sotto::Aggregator& aggregator, const sotto::Bounded& value) {
  (void)aggregator.accept(value);
}
