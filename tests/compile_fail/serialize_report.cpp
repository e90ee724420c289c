// expect: no member named '?serialize
// There is no way from this stage to bytes: only an Envelope has one.
#include "sotto/stages.h"

std::vector<std::byte> leak(const sotto::Report& value) { return value.serialize(); }
