# No two types or functions of one name in the program that differ: what cmake/one_definition reads in the
# sources, here by the compiler, which sees all that headers define too.
#
# With SOTTO_ONE_DEFINITION every object also carries what link-time optimisation needs, and the target
# one_definition_link merges the objects of all libraries and of the program without making code of them:
# seconds, and -Wodr is an error. Programs and tests are linked from the machine code beside it.
include_guard()

if(SOTTO_ONE_DEFINITION)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    message(FATAL_ERROR "SOTTO_ONE_DEFINITION needs GCC")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-flto> $<$<COMPILE_LANGUAGE:CXX>:-ffat-lto-objects>)
  add_link_options(-fno-lto)
endif()

# All targets below a folder that are made of objects of ours.
function(sotto_collect_targets result folder)
  set(found "")
  get_property(here DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS here)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|EXECUTABLE)$")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS below)
    sotto_collect_targets(more ${subfolder})
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(sotto_one_definition_link)
  if(NOT SOTTO_ONE_DEFINITION)
    return()
  endif()
  set(objects "")
  foreach(folder src lab apps/sotto python)
    get_property(known DIRECTORY PROPERTY SUBDIRECTORIES)
    if(NOT ${PROJECT_SOURCE_DIR}/${folder} IN_LIST known)
      continue()
    endif()
    sotto_collect_targets(targets ${PROJECT_SOURCE_DIR}/${folder})
    foreach(target IN LISTS targets)
      list(APPEND objects "$<TARGET_OBJECTS:${target}>")
      list(APPEND all ${target})
    endforeach()
  endforeach()
  set(merged ${CMAKE_BINARY_DIR}/one_definition.o)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/one_definition.objects CONTENT "$<JOIN:${objects},\n>\n")
  add_custom_command(OUTPUT ${merged}
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -flto -flinker-output=rel -Wodr -Werror
            @${CMAKE_BINARY_DIR}/one_definition.objects -o ${merged}
    DEPENDS ${all} ${CMAKE_BINARY_DIR}/one_definition.objects
    COMMENT "One definition of every type and function" VERBATIM)
  add_custom_target(one_definition_link DEPENDS ${merged})
endfunction()
