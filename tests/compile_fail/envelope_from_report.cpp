// expect: no matching (function|conversion|constructor)
// A Report becomes envelopes by pack() alone.
#include "sotto/stages.h"

sotto::Envelope forge(const sotto::Report& report) { return sotto::Envelope(report); }
