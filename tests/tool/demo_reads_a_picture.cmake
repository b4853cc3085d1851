# The pyramid of a picture given by file: its pictures are written, and the rebuilt one is the original.
# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/demo_json.cmake)
file(REMOVE_RECURSE ${OUT})
run_demo(--program pyramid --image ${PICTURE} --output ${OUT})
foreach(name gaussian_1 laplacian_0 rebuilt_0)
  if(NOT EXISTS ${OUT}/${name}.png)
    message(FATAL_ERROR "${name}.png was not written")
  endif()
endforeach()
# The same writer wrote both files, so equal pixels are equal bytes.
file(SHA256 ${PICTURE} original)
file(SHA256 ${OUT}/rebuilt_0.png rebuilt)
if(NOT original STREQUAL rebuilt)
  message(FATAL_ERROR "the rebuilt picture differs from the original")
endif()
