// expect: no matching (member )?function for call to '[^']*accept
// An Aggregator takes envelopes and nothing that comes before them.
#include "sotto/aggregate.h"

void leak(sotto::Aggregator& aggregator, const sotto::Update& value) {
  (void)aggregator.accept(value);
}
