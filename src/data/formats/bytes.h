// What every reader needs to look at foreign bytes: integers of either byte order, products that
// cannot overflow, and text that is safe to print in an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sotto/result.h"

namespace sotto {

using ByteSpan = std::span<const std::byte>;

/// The unsigned integer in `bytes` bytes at `from`; the caller has checked that they exist.
std::uint64_t load_little(const std::byte* from, unsigned bytes);
std::uint64_t load_big(const std::byte* from, unsigned bytes);

/// The product, or nothing when it exceeds `limit`. Any factor may be hostile.
std::optional<std::uint64_t> product_within(std::uint64_t limit,
                                            std::initializer_list<std::uint64_t> factors);
std::optional<std::uint64_t> product_within(std::uint64_t limit,
                                            std::span<const std::uint64_t> factors);

/// "0x00000803"
std::string hex32(std::uint32_t value);
/// At most 120 characters of `text`, with everything that is not printable ASCII replaced by '?'.
std::string printable(std::string_view text);
/// "60000 x 28 x 28"
std::string shape_text(std::span<const std::uint64_t> dimensions);

std::string_view as_text(ByteSpan bytes);
std::span<const std::uint8_t> as_numbers(ByteSpan bytes);

[[nodiscard]] tl::unexpected<Error> corrupt(std::string message);

}  // namespace sotto
