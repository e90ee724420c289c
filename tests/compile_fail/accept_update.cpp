// expect: (cannot convert|no viable conversion from) 'const sotto::Update' to 'const
// sotto::Envelope An Aggregator takes envelopes and nothing that comes before them.
#include "sotto/aggregate.h"

void leak(sotto::Aggregator& aggregator, const sotto::Update& value) {
  (void)aggregator.accept(value);
}
