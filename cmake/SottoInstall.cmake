# Install and export, so that another project says find_package(sotto COMPONENTS core).
include_guard()
include(CMakePackageConfigHelpers)

get_property(SOTTO_COMPONENTS GLOBAL PROPERTY SOTTO_COMPONENTS)
foreach(component IN LISTS SOTTO_COMPONENTS)
  install(TARGETS sotto_${component} EXPORT sotto-${component} COMPONENT ${component})
  install(EXPORT sotto-${component} NAMESPACE sotto:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sotto
          COMPONENT ${component})
endforeach()
install(DIRECTORY include/sotto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT core)
# A copy of tl/expected.hpp that came with our source goes along with our headers.
string(FIND "${SOTTO_EXPECTED_INCLUDE}/" "${PROJECT_SOURCE_DIR}/" carried)
if(carried EQUAL 0)
  install(FILES ${SOTTO_EXPECTED_INCLUDE}/tl/expected.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tl COMPONENT core)
endif()
if(SOTTO_CLI)
  install(TARGETS sotto_cli COMPONENT cli)
  if(TARGET sotto_torch)
    install(TARGETS sotto_torch DESTINATION ${CMAKE_INSTALL_LIBDIR}/sotto COMPONENT cli)
  endif()
endif()

configure_package_config_file(cmake/sotto-config.cmake.in sotto-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sotto PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(sotto-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sotto-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/sotto-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sotto COMPONENT core)
