# perf attributes samples to a kernel by its name, through the map that Native writes.
# SPDX-License-Identifier: MIT
set(data ${WORK}/perf.data)
execute_process(COMMAND ${PERF} record -o ${data} ${PROGRAM} 5000
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status TIMEOUT 120)
if(said MATCHES "Native is not here" OR NOT status EQUAL 0)
  message(STATUS "SKIPPED: perf record ended with ${status}:\n${said}")
  return()
endif()
execute_process(COMMAND ${PERF} report -i ${data} --stdio --sort symbol
  OUTPUT_VARIABLE report ERROR_VARIABLE said RESULT_VARIABLE status TIMEOUT 120)
if(NOT report MATCHES "salvo_debugged")
  message(FATAL_ERROR "no samples of the kernel:\n${report}\n${said}")
endif()
