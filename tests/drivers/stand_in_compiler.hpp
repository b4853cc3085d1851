// The functions of a stand-in run-time compiler, NVRTC or hiprtc: any source becomes the same code.
// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/stand_in.hpp"

inline constexpr char kCompilersWords[] = "line 3: the compiler's words";
/// What the drivers take for machine code.
inline char stand_in_elf[64] =
    "\x7f"
    "ELF";

/// `form` is what the result is called.
#define SALVO_FAKE_COMPILER(prefix, form)                                                         \
  SALVO_FAKE(prefix##CreateProgram,                                                               \
             (void** program, const char* source, const char*, int, const char* const*,           \
              const char* const*),                                                                \
             *program = stand_in_elf;                                                             \
             std::strncpy(SALVO_STAND_IN.source, source, sizeof(SALVO_STAND_IN.source) - 1))      \
  SALVO_FAKE(prefix##DestroyProgram, (void**), )                                                  \
  SALVO_FAKE(                                                                                     \
      prefix##CompileProgram, (void*, int count, const char* const* options),                     \
      SALVO_STAND_IN.options[0] = '\0';                                                           \
      for (int i = 0; i < count; ++i) {                                                           \
        std::strcat(SALVO_STAND_IN.options, options[i]);                                          \
        std::strcat(SALVO_STAND_IN.options, " ");                                                 \
      })                                                                                          \
  SALVO_FAKE(prefix##GetProgramLogSize, (void*, std::size_t* bytes),                              \
             *bytes = sizeof(kCompilersWords))                                                    \
  SALVO_FAKE(prefix##GetProgramLog, (void*, char* log), std::strcpy(log, kCompilersWords))        \
  SALVO_FAKE(prefix##Get##form##Size, (void*, std::size_t* bytes), *bytes = sizeof(stand_in_elf)) \
  SALVO_FAKE(prefix##Get##form, (void*, char* code),                                              \
             std::memcpy(code, stand_in_elf, sizeof(stand_in_elf)))
