// Cutting one data set into a train and a test part.
#pragma once

#include <cstdint>
#include <string>

#include "sotto/data.h"

namespace sotto {

/// Holds out `test_fraction` of each class, or of each user where the samples have users, rounded;
/// no class or user loses its last sample. Both parts keep the order of the data.
DataSplit hold_out(std::string name, Dataset data, double test_fraction, std::uint64_t seed);

}  // namespace sotto
