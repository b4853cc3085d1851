// Which loops are written out in PTX: the assembler unrolls little by itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::ptx {

/// The counter's values of a For where they are known and few and the body always ends; empty
/// otherwise. Such a loop is written out whole.
std::vector<std::int64_t> known_counters(const ir::Kernel& kernel, const ir::Node& loop);

/// Whether four rounds of a For at a time are worth while: then their loads overlap.
bool runs_in_fours(const ir::Kernel& kernel, const ir::Node& loop);

}  // namespace salvo::codegen::ptx
