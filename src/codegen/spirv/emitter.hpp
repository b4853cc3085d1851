// Turns a kernel into a SPIR-V module, instruction by instruction.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/spirv/layout.hpp"
#include "codegen/spirv/options.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::spirv {

struct Emitted {
  std::vector<std::uint32_t> words;
  Layout layout;
};

/// A shader's block size and dynamic shared memory are specialisation constants (memory.hpp); a
/// kernel's arguments are those of `lay_out_entry`. Throws Errc::unsupported for what the flavour
/// or the device cannot say.
Emitted emit(const ir::Kernel& kernel, const Options& options);

/// The module as text.
std::string disassemble(const std::vector<std::uint32_t>& words);

}  // namespace salvo::codegen::spirv
