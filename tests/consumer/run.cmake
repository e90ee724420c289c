# Installs the components INSTALL of BUILD below WORK, then configures PROJECT with REQUEST. Either
# it builds and runs, or, where EXPECT is given, it fails with that message.
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(output "${out}" PARENT_SCOPE)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${out}")
  endif()
endfunction()

foreach(component IN LISTS INSTALL)
  run("install" ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}" --component ${component})
endforeach()

# An installed file that names the source or build folder works only on this machine.
file(GLOB_RECURSE files "${prefix}/*.cmake" "${prefix}/*.h")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(word IN ITEMS "${SOTTO_SOURCE}" "${BUILD}" sotto_flags)
    string(FIND "${text}" "${word}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} refers to '${word}'")
    endif()
  endforeach()
endforeach()

set(configure ${CMAKE_COMMAND} -S "${PROJECT}" -B "${WORK}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
    -DCMAKE_BUILD_TYPE=Release)
# A list inside a list would fall apart.
string(REPLACE ";" "\\;" REQUEST "${REQUEST}")

list(APPEND configure "-DCOMPONENTS=${REQUEST}")

if("${EXPECT}" STREQUAL "")
  run("configure" ${configure})
  run("build" ${CMAKE_COMMAND} --build "${WORK}/build")
  run("run" "${WORK}/build/consumer")
  if(NOT output MATCHES "^mean of 10000 reports: 0[.][3-6][0-9]* -0[.][0-9]+\n$")
    message(FATAL_ERROR "the consumer printed '${output}'")
  endif()
else()
  execute_process(COMMAND ${configure} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out "${out}")  # CMake folds its messages
  string(FIND "${out}" "${EXPECT}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "this was to fail with '${EXPECT}' (${code}):\n${out}")
  endif()
endif()
