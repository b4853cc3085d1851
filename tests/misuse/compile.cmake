# Compiles PROGRAM and checks that the compiler says what its `expect:` line announces.
# SPDX-License-Identifier: MIT
#
# `// expect: success` marks the program that shows that the others fail for their own mistake.
file(READ ${PROGRAM} text)
if(NOT text MATCHES "\n// expect: ([^\n]+)\n")
  message(FATAL_ERROR "${PROGRAM} has no `// expect: ` line")
endif()
set(expected "${CMAKE_MATCH_1}")

execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} ${PROGRAM}
  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)

if(expected STREQUAL "success")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "should compile, but:\n${said}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "compiles, but should not")
else()
  string(FIND "${said}" "${expected}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "does not compile, but without the words `${expected}`:\n${said}")
  endif()
endif()
