// expect: (cannot convert|no viable conversion from) 'const sotto::Report' to 'const
// sotto::Envelope An Aggregator takes envelopes and nothing that comes before them.
#include "sotto/aggregate.h"

void leak(sotto::Aggregator& aggregator, const sotto::Report& value) {
  (void)aggregator.accept(value);
}
