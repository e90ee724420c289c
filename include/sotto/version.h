// The version of the headers that a program was compiled against. CMakeLists.txt checks that it is
// the project's.
#pragma once
#define SOTTO_VERSION "0.1.0"
