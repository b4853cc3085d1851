// Where the two flavours of SPIR-V say the same thing in different words.
// SPDX-License-Identifier: MIT
#pragma once

#include <glslang/SPIRV/spirv.hpp>

#include "codegen/spirv/options.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::spirv {

struct Words {
  spv::StorageClass global;         // of what spans point to
  spv::Scope device;                // memory scope of atomics and of fences for the whole device
  spv::MemorySemanticsMask orders;  // stores before are seen by loads after, in global and shared
  spv::MemoryAccessMask sharing;    // of an access to global memory that threads share
  const char* instruction_set;      // of extended instructions
  int position_bits;                // of a component of a position in the grid
};

Words words_of(const Options& options);

/// The number of `op` in the flavour's library of extended instructions; -1 if it has none.
int extended_instruction(Flavour flavour, ir::Op op);

}  // namespace salvo::codegen::spirv
