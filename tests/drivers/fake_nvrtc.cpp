// A stand-in for NVRTC in one of several versions, which records what is compiled.
// SPDX-License-Identifier: MIT
#include "drivers/stand_in_compiler.hpp"

SALVO_EXPORT StandIn fake_nvrtc;
StandIn fake_nvrtc;
#define SALVO_STAND_IN fake_nvrtc

#ifndef SALVO_NVRTC_VERSION  // and the first of the chips that it knows
#  define SALVO_NVRTC_VERSION 13000
#  define SALVO_NVRTC_CHIP 75
#endif

SALVO_FAKE(nvrtcVersion, (int* major, int* minor), *major = SALVO_NVRTC_VERSION / 1000;
           *minor = SALVO_NVRTC_VERSION % 1000 / 10)
SALVO_FAKE(nvrtcGetNumSupportedArchs, (int* count), *count = 2)
SALVO_FAKE(nvrtcGetSupportedArchs, (int* archs), archs[0] = SALVO_NVRTC_CHIP;
           archs[1] = SALVO_NVRTC_CHIP + 15)
#ifdef SALVO_NVRTC_WITHOUT_CUBIN  // as before 11.1
SALVO_FAKE_COMPILER(nvrtc, Nothing)
#else
SALVO_FAKE_COMPILER(nvrtc, CUBIN)
#endif
// For sources that are compiled for no chip in particular.
constexpr char kPtx[] = ".version 8.0";
SALVO_FAKE(nvrtcGetPTXSize, (void*, std::size_t* bytes), *bytes = sizeof(kPtx))
SALVO_FAKE(nvrtcGetPTX, (void*, char* ptx), std::memcpy(ptx, kPtx, sizeof(kPtx)))
