// Text by its characters (code points), not its bytes.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

/// Characters: what the width of a label depends on.
std::size_t characters(std::string_view text);

/// At most `limit` characters; the end is replaced by an ellipsis where it was longer.
std::string shorten(std::string_view text, std::size_t limit);

/// Bytes of the character that begins at `at`; 0 where what begins there is none: UTF-8 in its
/// shortest form, without surrogates.
std::size_t character_bytes(std::string_view text, std::size_t at);

/// What may be written to a terminal whoever wrote it: characters that move a cursor, hide or
/// reorder text are shown by their numbers ("\x1b", "\u202e"), and so are bytes that are no
/// characters. Ends of lines stay.
std::string for_terminal(std::string_view text);
/// The same with ends of lines shown, too: a stranger's text never looks like another line of ours.
std::string one_line(std::string_view text);

}  // namespace sotto
