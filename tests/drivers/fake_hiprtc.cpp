// A stand-in hiprtc that records what is compiled: libhiprtc of ROCm 7, part of libamdhip64 before.
// SPDX-License-Identifier: MIT
#include "drivers/stand_in_compiler.hpp"

SALVO_EXPORT StandIn fake_hiprtc;
StandIn fake_hiprtc;
#undef SALVO_STAND_IN
#define SALVO_STAND_IN fake_hiprtc

SALVO_FAKE(hiprtcVersion, (int* major, int* minor), *major = 9; *minor = 0)
SALVO_FAKE_COMPILER(hiprtc, Code)
