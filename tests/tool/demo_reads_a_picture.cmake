# The pyramid of a picture given by file: its pictures are written, and the rebuilt one is the original.
# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/demo_json.cmake)
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${TOOL} demo --make-picture ${OUT}/original.png COMMAND_ERROR_IS_FATAL ANY)
run_demo(--program pyramid --image ${OUT}/original.png --output ${OUT}/made)
foreach(name gaussian_1 laplacian_0 rebuilt_0)
  if(NOT EXISTS ${OUT}/made/${name}.png)
    message(FATAL_ERROR "${name}.png was not written")
  endif()
endforeach()
# One writer wrote both files, so equal pixels are equal bytes.
file(SHA256 ${OUT}/original.png original)
file(SHA256 ${OUT}/made/rebuilt_0.png rebuilt)
if(NOT original STREQUAL rebuilt)
  message(FATAL_ERROR "the rebuilt picture differs from the original")
endif()
