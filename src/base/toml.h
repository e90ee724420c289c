// toml++ as we use it: header-only and without exceptions, so that it can travel with the source.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
