# Runs PROGRAM and compares what it prints with the file EXPECTED, where there is one.
# SPDX-License-Identifier: MIT
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${EXPECTED})
  file(READ ${EXPECTED} expected)
  if(NOT said STREQUAL expected)
    message(FATAL_ERROR "announced:\n${expected}\nprinted:\n${said}")
  endif()
endif()
