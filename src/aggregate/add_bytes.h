// Adds symbols of one byte each to sums of 32 bits, which is most of what a server does with a
// report of 8 bits a weight once it is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

/// sums[i] += symbol i for all of `symbols`, signed bytes, and true; false, and no sum has changed,
/// if one of them is outside of [smallest, largest]. Each sum must have room for one more symbol.
bool add_packed_bytes(std::span<const std::byte> symbols, std::int8_t smallest, std::int8_t largest,
                      std::int32_t* sums);

}  // namespace sotto
