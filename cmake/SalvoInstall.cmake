# Install rules: headers, what they refer to, library, tool and the package that find_package(salvo) finds.
# SPDX-License-Identifier: MIT
include_guard()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(salvo_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/salvo)

install(DIRECTORY include/salvo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
# The headers name rules of the specification, and the bounds of math functions.
install(DIRECTORY docs/spec DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES docs/exactness.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS salvo EXPORT salvoTargets)
install(EXPORT salvoTargets NAMESPACE salvo:: DESTINATION ${salvo_package_dir})

configure_package_config_file(cmake/salvoConfig.cmake.in ${PROJECT_BINARY_DIR}/salvoConfig.cmake
  INSTALL_DESTINATION ${salvo_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/salvoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/salvoConfig.cmake ${PROJECT_BINARY_DIR}/salvoConfigVersion.cmake
  DESTINATION ${salvo_package_dir})
