// "Did you mean": the valid name closest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

/// Number of single-character edits (insert, delete, replace, swap of neighbours) from a to b.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to `name`, or empty when none is near enough to be meant.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// "a, b, c"
std::string join(std::span<const std::string> items, std::string_view separator = ", ");

}  // namespace sotto
