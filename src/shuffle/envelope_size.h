// How long a serialized envelope is before it exists, for whoever has to announce sizes.
#pragma once

#include <cstddef>

namespace sotto {

std::size_t envelope_bytes(std::size_t id_bytes, std::size_t symbols, unsigned bits);

}  // namespace sotto
