// A stand-in libnvrtc.so.13 that records what is compiled.
// SPDX-License-Identifier: MIT
#include "drivers/stand_in_compiler.hpp"

SALVO_EXPORT StandIn fake_nvrtc;
StandIn fake_nvrtc;
#define SALVO_STAND_IN fake_nvrtc

SALVO_FAKE(nvrtcVersion, (int* major, int* minor), *major = 13; *minor = 0)
SALVO_FAKE(nvrtcGetNumSupportedArchs, (int* count), *count = 2)
SALVO_FAKE(nvrtcGetSupportedArchs, (int* archs), archs[0] = 75; archs[1] = 90)
SALVO_FAKE_COMPILER(nvrtc, CUBIN)
// For sources that are compiled for no chip in particular.
constexpr char kPtx[] = ".version 8.0";
SALVO_FAKE(nvrtcGetPTXSize, (void*, std::size_t* bytes), *bytes = sizeof(kPtx))
SALVO_FAKE(nvrtcGetPTX, (void*, char* ptx), std::memcpy(ptx, kPtx, sizeof(kPtx)))
