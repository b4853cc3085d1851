// Writes a kernel as PTX, NVIDIA's assembly language.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::ptx {

/// Version of the language and of the chip that the text is for. Later chips and drivers take it
/// too.
struct Target {
  int language = 81;  // 81: PTX 8.1
  int chip = 90;      // 90: sm_90
};

/// What a driver (12010: CUDA 12.1) assembles for a chip.
Target target_for(int driver_version, int chip) noexcept;

struct EmitOptions {
  Target target;
  bool contraction = false;                     // the assembler may contract
  std::uint64_t may_alias = ~std::uint64_t{0};  // a bit per parameter; beyond 64: may
};

struct Emitted {
  std::string entry;  // name of the kernel function
  std::string code;
  /// By parameter: what `entry` takes a span's address for a multiple of. Empty if nothing; else
  /// the code has another function for spans that lie elsewhere.
  std::vector<std::uint32_t> alignments;
  std::string unaligned_entry;
};

/// One instruction sequence per operation, in the IR's order. Every add, sub, mul and fma of floats
/// carries .rn unless `contraction` is set, so that the assembler cannot contract. A span is an
/// address and, if its length is read, an i64 length; a scalar is itself; a table is an array of
/// the one and, after it, of the other. Math functions without an instruction are written out.
/// Neighbouring accesses of a thread become one, of 16 bytes at most, where they provably may.
Emitted emit(const ir::Kernel& kernel, const EmitOptions& options);

/// Emitted code whose functions take blocks of so many threads, with fewer registers if need be.
std::string with_launch_bound(const std::string& code, std::uint32_t threads);

}  // namespace salvo::codegen::ptx
