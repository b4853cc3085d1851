// From the SPIR-V of a module to the LLVM bitcode that an OpenCL driver for CPUs takes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace salvo::test::level_zero {

/// How a kernel's parameter is passed.
struct Passing {
  enum class How : std::uint8_t { pointer, shared, value };
  How how = How::value;
  std::size_t bytes = 8;  // of a value or an address
};

struct Translation {
  std::vector<std::uint8_t> bitcode;  // empty: it failed
  std::string log;                    // of the translator
};

/// Runs Khronos' translator, llvm-spirv, in reverse.
Translation translate(const std::vector<std::uint32_t>& words);

/// The parameters of every kernel in the module.
std::map<std::string, std::vector<Passing>> kernels_of(const std::vector<std::uint32_t>& words);

}  // namespace salvo::test::level_zero
