// expect: private
// Only bound() makes a Bounded: values that nobody clipped must not reach a mechanism.
#include "sotto/stages.h"

sotto::Bounded forge(std::vector<float> values) { return sotto::Bounded(std::move(values), 0); }
