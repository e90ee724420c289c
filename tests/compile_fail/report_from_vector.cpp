// expect: private
// Only a Mechanism makes a Report.
#include "sotto/stages.h"

sotto::Report forge(sotto::PackedSymbols symbols) {
  return sotto::Report("none.v1", std::move(symbols));
}
