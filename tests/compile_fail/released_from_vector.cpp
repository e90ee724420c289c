// expect: private
// Only an Aggregator publishes.
#include "sotto/stages.h"

sotto::Released forge(std::vector<double> values) { return sotto::Released(std::move(values), 1); }
