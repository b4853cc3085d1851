// How a printed kernel gets its arguments.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

/// A span is a storage buffer, bound as a whole, with two words: the view's first element and its
/// length in elements. A scalar is a word, the bits of its compute type. Tables are that for each
/// slot. The words are one uniform buffer, `vec4<u32>` by `vec4<u32>`, at binding 0 of group 0; the
/// storage buffers have the bindings after it, in the parameters' order.
struct Layout {
  explicit Layout(const ir::Kernel& kernel);

  struct Parameter {
    std::uint32_t word = 0;     // of slot 0: a span's first element, or the scalar
    std::uint32_t length = 0;   // span: the word of slot 0's length
    std::uint32_t binding = 0;  // span: of slot 0
  };
  std::vector<Parameter> parameters;
  std::uint32_t words = 0;
};

/// A scalar argument's word: its bits, given as they lie in memory, in the compute type.
std::uint32_t word_of(ir::Scalar type, std::uint64_t bits);

}  // namespace salvo::codegen::wgsl
