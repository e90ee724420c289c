// expect: (cannot convert|no viable conversion from) 'const sotto::Update' to 'const sotto::Bounded
// A mechanism takes only what bound() has clipped.
#include "sotto/mechanism.h"

sotto::Report leak(const sotto::Mechanism& mechanism, const sotto::Update& update,
                   sotto::BitSource& bits) {
  return mechanism.perturb(update, bits);
}
