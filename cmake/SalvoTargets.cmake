# Compiler settings that every target of the project shares.
# SPDX-License-Identifier: MIT
include_guard()

find_program(SALVO_CCACHE ccache)
if(SALVO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SALVO_CCACHE})
endif()

function(salvo_target_defaults target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  # The host must not contract a*b+c: the interpreter is the numeric oracle.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Wconversion -Wno-sign-conversion -ffp-contract=off
    # GCC 12 sees overlap in every optimised std::string sum (its bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
  if(SALVO_SANITIZE)
    # Not vptr: the SPIR-V sources have no type information, as the builder they derive from has
    # none, and what they share with others (fmt) may come from either.
    target_compile_options(${target} PRIVATE -fsanitize=${SALVO_SANITIZE} -fno-sanitize=vptr
      -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SALVO_SANITIZE})
  endif()
endfunction()

# A portable program needs only glibc, of the build machine's version or later. It is not linked fully
# static because drivers are loaded with dlopen.
function(salvo_program_defaults target)
  salvo_target_defaults(${target})
  if(SALVO_PORTABLE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -s)
  endif()
endfunction()

# salvo_test(name LABEL unit SOURCES a.cpp ...): a GoogleTest program; every TEST becomes a ctest.
function(salvo_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  salvo_program_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE salvo fmt::fmt-header-only GTest::gtest GTest::gmock GTest::gtest_main ${arg_LIBRARIES})
  gtest_discover_tests(${name} PROPERTIES LABELS ${arg_LABEL} DISCOVERY_TIMEOUT 60)
endfunction()

# salvo_suites(name a.cpp ...): tests compiled once for all programs that run them, as
# $<TARGET_OBJECTS:name>.
function(salvo_suites name)
  add_library(${name} OBJECT ${ARGN})
  salvo_program_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE salvo salvo_fake fmt::fmt-header-only GTest::gtest GTest::gmock)
endfunction()
