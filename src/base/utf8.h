// Text by its characters (code points), not its bytes.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

/// Characters: what the width of a label depends on.
std::size_t characters(std::string_view text);

/// At most `limit` characters; the end is replaced by an ellipsis where it was longer.
std::string shorten(std::string_view text, std::size_t limit);

}  // namespace sotto
