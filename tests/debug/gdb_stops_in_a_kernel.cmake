# gdb stops in a kernel by its name, and its backtrace and stepping name lines of the C++ source.
# SPDX-License-Identifier: MIT
file(STRINGS ${SOURCE} lines)
set(line 0)
set(first 0)
set(last 0)
foreach(text IN LISTS lines)
  math(EXPR line "${line} + 1")
  if(text MATCHES "salvo::kernel\\(")
    set(first ${line})
  elseif(text MATCHES "y\\[i\\] = sum")
    set(last ${line})
  endif()
endforeach()

execute_process(COMMAND ${GDB} --batch --nx
    -ex "set debuginfod enabled off" -ex "set breakpoint pending on" -ex "set confirm off"
    -ex "break debugged" -ex run -ex "bt 2" -ex next -ex next -ex next -ex "info source" -ex kill
    ${PROGRAM}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status TIMEOUT 120)
if(said MATCHES "Native is not here|ptrace: Operation not permitted|Could not trace the inferior")
  message(STATUS "SKIPPED:\n${said}")
  return()
endif()
get_filename_component(name ${SOURCE} NAME)
if(NOT said MATCHES "#0 [^\n]*debugged \\(\\) at [^\n]*${name}:([0-9]+)")
  message(FATAL_ERROR "no frame of the kernel with a line of ${name} (status ${status}):\n${said}")
endif()
set(at ${CMAKE_MATCH_1})
if(at LESS first OR at GREATER last)
  message(FATAL_ERROR "line ${at} is not of the kernel, ${first} to ${last}:\n${said}")
endif()
if(NOT said MATCHES "Current source file is [^\n]*${name}")
  message(FATAL_ERROR "after steps gdb is not in ${name}:\n${said}")
endif()
