# `salvo source --json` lists kernels, and gives one's source with its kernel and target.
# SPDX-License-Identifier: MIT
execute_process(COMMAND ${TOOL} source --json OUTPUT_VARIABLE document COMMAND_ERROR_IS_FATAL ANY)
string(JSON first GET "${document}" 0 kernel)
execute_process(COMMAND ${TOOL} source ${first} --json OUTPUT_VARIABLE document COMMAND_ERROR_IS_FATAL ANY)
string(JSON kernel GET "${document}" kernel)
string(JSON target GET "${document}" target)
string(JSON text GET "${document}" source)
if(NOT kernel STREQUAL first OR NOT target STREQUAL "OpenCL" OR NOT text MATCHES "kernel void")
  message(FATAL_ERROR "not the OpenCL source of ${first}:\n${document}")
endif()
