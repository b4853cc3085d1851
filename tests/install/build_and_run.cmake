# Configures, builds and runs tests/install/user, with Salvo found in the way WAY says.
# SPDX-License-Identifier: MIT
set(scratch ${SALVO_BUILD}/tests/install/${WAY})
file(REMOVE_RECURSE ${scratch})

if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${SALVO_BUILD} --prefix ${scratch}/prefix
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  set(place -DCMAKE_PREFIX_PATH=${scratch}/prefix)
  # What the headers refer to is there.
  foreach(page spec/launch-window.md spec/kernel-language.md spec/runtime.md exactness.md)
    if(NOT EXISTS ${scratch}/prefix/share/doc/salvo/${page})
      message(FATAL_ERROR "share/doc/salvo/${page} was not installed")
    endif()
  endforeach()
  # No private dependency may show in what users link against.
  file(GLOB_RECURSE targets ${scratch}/prefix/salvoTargets*.cmake)
  if(NOT targets)
    message(FATAL_ERROR "no target files were installed")
  endif()
  foreach(file IN LISTS targets)
    file(STRINGS ${file} leaks REGEX "fmt|xxhash|XXH_|nlohmann|glslang|SPIRV")
    if(leaks)
      message(FATAL_ERROR "${file} names a private dependency: ${leaks}")
    endif()
  endforeach()
else()
  set(place -DSALVO_SOURCE_DIR=${SALVO_SOURCE} -DSALVO_SANITIZE=${SANITIZE})
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/user -B ${scratch}/build
  -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=None
  ${place} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${scratch}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${scratch}/build/user OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said STREQUAL "2 -1\n")
  message(FATAL_ERROR "the program printed `${said}`")
endif()
