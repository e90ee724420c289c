// expect: private
// An Envelope comes from pack() or from the wire, not from nothing.
#include "sotto/stages.h"

sotto::Envelope forge() { return sotto::Envelope(); }
