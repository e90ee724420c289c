// expect: private
// Only a Mechanism makes a Report.
#include "sotto/stages.h"

sotto::Report forge(std::vector<sotto::Symbol> symbols) {
  return sotto::Report("none.v1", 6, std::move(symbols));
}
