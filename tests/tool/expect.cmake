# Runs TOOL with ARGS (joined by |) and checks its exit code and what it says.
# SPDX-License-Identifier: MIT
string(REPLACE "|" ";" ARGS "${ARGS}")
execute_process(COMMAND ${TOOL} ${ARGS} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT code EQUAL CODE)
  message(FATAL_ERROR "exit code ${code}, not ${CODE}\n${out}${err}")
endif()
if(NOT "${out}${err}" MATCHES "${SAYS}")
  message(FATAL_ERROR "nothing like `${SAYS}` in:\n${out}${err}")
endif()
if(CODE EQUAL 2 AND NOT (out STREQUAL "" AND err MATCHES "^[^\n]+\n$"))
  message(FATAL_ERROR "not one line on stderr alone:\n${out}\n--\n${err}")
endif()
