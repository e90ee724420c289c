// Numbers as people read them, the same in the terminal and in reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto {

/// 1234567 -> "1,234,567"
std::string with_commas(std::uint64_t number);
/// "1 client", "20,490 weights"
std::string counted(std::uint64_t count, std::string_view what);
/// 83.2 -> "1 min 23 s"
std::string duration(double seconds);
/// 12345678 -> "12.3 MB"
std::string byte_size(std::uint64_t bytes);

/// Without loss, in hexadecimal as printf's %a writes it: "0x1.8p+1".
std::string hex_number(double value);
/// Up to ten significant digits, no trailing zeros: "0.075", "1e-05".
std::string short_number(double value);

}  // namespace sotto
