# Compiles SOURCE and compares the outcome with its first line: "// expect: compiles", or
# "// expect: REGEX" for a diagnostic that the compiler must give in this very file.
file(READ "${SOURCE}" text)
if(NOT text MATCHES "^// expect: ([^\n]+)\n")
  message(FATAL_ERROR "${SOURCE}: the first line must be '// expect: ...'")
endif()
set(expected "${CMAKE_MATCH_1}")
get_filename_component(name "${SOURCE}" NAME_WE)

set(includes "")
foreach(folder IN LISTS INCLUDES)
  list(APPEND includes "-I${folder}")
endforeach()
set(ENV{LC_ALL} C)  # plain quotes and English, whatever the user's language
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${includes} "${SOURCE}"
                RESULT_VARIABLE code ERROR_VARIABLE diagnostics OUTPUT_QUIET)

if(expected STREQUAL "compiles")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${SOURCE} must compile:\n${diagnostics}")
  endif()
elseif(code EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile, but does")
elseif(NOT diagnostics MATCHES "${name}\\.cpp:[0-9]+:[0-9]+: error: [^\n]*${expected}")
  message(FATAL_ERROR "${SOURCE} is refused, but not for '${expected}':\n${diagnostics}")
endif()
