// Adds packed bits to counters of a byte each, which is most of what a server does with a report
// of one bit a weight once it is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

/// counters[i] += bit i, for all bits of the whole bytes `bits`, lowest first. Each counter must
/// have room for one more.
void add_packed_bits(std::span<const std::byte> bits, std::uint8_t* counters);

}  // namespace sotto
