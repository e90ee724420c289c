# How a Sotto library is made: one call, the same warnings and includes for each.
include_guard()

# The flags that every target of this project, and nothing that uses it, is compiled with.
add_library(sotto_flags INTERFACE)
set(warnings
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wno-missing-field-initializers
  # GCC 12 sees an overlapping copy in "text" + std::to_string(n) where there is none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${SOTTO_WERROR}>:-Werror>)
# nvcc, where there are kernels for a GPU, does not know them.
target_compile_options(sotto_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")

# What users run stops at an index out of bounds instead of reading on, and gives an attacker nothing
# at a known address. _FORTIFY_SOURCE needs an optimizing compiler and confuses the sanitizers.
add_library(sotto_hardened INTERFACE)
target_link_libraries(sotto_flags INTERFACE sotto_hardened)
if(SOTTO_HARDENED)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  set(hardened
    -D_GLIBCXX_ASSERTIONS -fstack-protector-strong
    "$<$<CONFIG:Release>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  target_compile_options(sotto_hardened INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${hardened}>")
  target_link_options(sotto_hardened INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# sotto_library(NAME SOURCES ... PUBLIC libs... PRIVATE libs...)
# makes sotto_NAME with the alias sotto::NAME and exports it as that.
function(sotto_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(sotto_${name} STATIC ${ARG_SOURCES})
  add_library(sotto::${name} ALIAS sotto_${name})
  set_target_properties(sotto_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(sotto_${name} PUBLIC cxx_std_20)
  target_include_directories(sotto_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sotto_${name}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:sotto_flags>)
  set_property(GLOBAL APPEND PROPERTY SOTTO_COMPONENTS ${name})
endfunction()

# Debian's libexpected-dev ships a CMake package; a carried header in third_party/ or anywhere on
# the include path does as well. Consumers need it too: it is in our public headers.
function(sotto_find_expected)
  find_path(SOTTO_EXPECTED_INCLUDE tl/expected.hpp HINTS ${PROJECT_SOURCE_DIR}/third_party REQUIRED)
  mark_as_advanced(SOTTO_EXPECTED_INCLUDE)
endfunction()

# libsodium has no CMake package: an imported target sotto_sodium, the same for every component.
function(sotto_find_sodium option)
  if(TARGET sotto_sodium)
    return()
  endif()
  find_path(SOTTO_SODIUM_INCLUDE sodium.h)
  find_library(SOTTO_SODIUM_LIBRARY sodium)
  mark_as_advanced(SOTTO_SODIUM_INCLUDE SOTTO_SODIUM_LIBRARY)
  if(NOT SOTTO_SODIUM_INCLUDE OR NOT SOTTO_SODIUM_LIBRARY)
    message(FATAL_ERROR "${option} needs libsodium (Debian: libsodium-dev); or set ${option}=OFF")
  endif()
  add_library(sotto_sodium INTERFACE IMPORTED GLOBAL)
  target_include_directories(sotto_sodium SYSTEM INTERFACE ${SOTTO_SODIUM_INCLUDE})
  target_link_libraries(sotto_sodium INTERFACE ${SOTTO_SODIUM_LIBRARY})
endfunction()

# A mechanism or an adversary is one file and one line in a list, NAME("...", file): the files to
# compile, `prefix`file.cpp, are read from there.
function(sotto_listed_sources result list prefix)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^SOTTO_")
  list(TRANSFORM lines REPLACE "^SOTTO_[A-Z]+\\(\"[^\"]*\", *([a-z0-9_]+)\\)$" "${prefix}\\1.cpp")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()
