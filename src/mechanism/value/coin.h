// The most unequal coin that epsilon allows, in integers: of 2^64 words one side has T and the
// other 2^64 - T, with T <= e^epsilon (2^64 - T) in exact arithmetic. two-point, the pair of
// hybrid, ldp-sgd's side and every randomized response on bits are such coins.
#pragma once

#include <cstdint>

namespace sotto {

/// The largest T of 2^63 .. 2^64 - 1 with T <= e^epsilon (2^64 - T); 2^63 where epsilon <= 0.
std::uint64_t largest_threshold(double epsilon);

/// The largest whole number m that a double holds with 2^63 + m <= e^epsilon (2^63 - m).
double largest_lean(double epsilon);

}  // namespace sotto
