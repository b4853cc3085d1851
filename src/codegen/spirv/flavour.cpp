// Where the two flavours of SPIR-V say the same thing in different words.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/flavour.hpp"

#include <glslang/SPIRV/GLSL.std.450.h>

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

constexpr Words kShaderWords{
    .global = spv::StorageClassPhysicalStorageBufferEXT,
    .device = spv::ScopeQueueFamily,
    .orders = static_cast<spv::MemorySemanticsMask>(
        +spv::MemorySemanticsAcquireReleaseMask | +spv::MemorySemanticsUniformMemoryMask |
        +spv::MemorySemanticsWorkgroupMemoryMask | +spv::MemorySemanticsMakeAvailableMask |
        +spv::MemorySemanticsMakeVisibleMask),
    .sharing = spv::MemoryAccessNonPrivatePointerMask,
    .instruction_set = "GLSL.std.450",
    .position_bits = 32,
};

constexpr Words kKernelWords{
    .global = spv::StorageClassCrossWorkgroup,
    .device = spv::ScopeDevice,
    .orders = static_cast<spv::MemorySemanticsMask>(+spv::MemorySemanticsAcquireReleaseMask |
                                                    +spv::MemorySemanticsCrossWorkgroupMemoryMask |
                                                    +spv::MemorySemanticsWorkgroupMemoryMask),
    .sharing = spv::MemoryAccessMaskNone,
    .instruction_set = "OpenCL.std",
    .position_bits = 64,
};

int shader_instruction(Op op) {
  switch (op) {
    case Op::Abs:
      return GLSLstd450FAbs;
    case Op::Fma:
      return GLSLstd450Fma;
    case Op::Clz:
      return GLSLstd450FindUMsb;  // the position of the highest bit
    case Op::Sqrt:
      return GLSLstd450Sqrt;
    case Op::Floor:
      return GLSLstd450Floor;
    case Op::Ceil:
      return GLSLstd450Ceil;
    case Op::Trunc:
      return GLSLstd450Trunc;
    default:
      return -1;
  }
}

/// The OpenCL extended instruction set specification, section 2.
int kernel_instruction(Op op) {
  switch (op) {
    case Op::Acos:
      return 0;
    case Op::Asin:
      return 3;
    case Op::Atan:
      return 6;
    case Op::Atan2:
      return 7;
    case Op::Cbrt:
      return 11;
    case Op::Ceil:
      return 12;
    case Op::Cos:
      return 14;
    case Op::Cosh:
      return 15;
    case Op::Exp:
      return 19;
    case Op::Exp2:
      return 20;
    case Op::Expm1:
      return 22;
    case Op::Abs:
      return 23;
    case Op::Floor:
      return 25;
    case Op::Fma:
      return 26;
    case Op::Fmod:
      return 29;
    case Op::Hypot:
      return 32;
    case Op::Log:
      return 37;
    case Op::Log2:
      return 38;
    case Op::Log10:
      return 39;
    case Op::Log1p:
      return 40;
    case Op::Pow:
      return 48;
    case Op::Round:
      return 55;
    case Op::Rsqrt:
      return 56;
    case Op::Sin:
      return 57;
    case Op::Sinh:
      return 59;
    case Op::Sqrt:
      return 61;
    case Op::Tan:
      return 62;
    case Op::Tanh:
      return 63;
    case Op::Trunc:
      return 66;
    case Op::Clz:
      return 151;
    default:
      return -1;
  }
}

}  // namespace

Words words_of(const Options& options) {
  if (options.flavour == Flavour::kernel) return kKernelWords;
  Words words = kShaderWords;
  if (!options.buffer_addresses) words.global = spv::StorageClassStorageBuffer;
  if (!options.vulkan_memory_model) {
    words.device = spv::ScopeDevice;
    words.orders = static_cast<spv::MemorySemanticsMask>(+spv::MemorySemanticsAcquireReleaseMask |
                                                         +spv::MemorySemanticsUniformMemoryMask |
                                                         +spv::MemorySemanticsWorkgroupMemoryMask);
    // Without a decoration on a variable, which an address has not, only this keeps an access from
    // being answered by the thread's own copy.
    words.sharing = spv::MemoryAccessVolatileMask;
  }
  return words;
}

int extended_instruction(Flavour flavour, Op op) {
  return flavour == Flavour::shader ? shader_instruction(op) : kernel_instruction(op);
}

}  // namespace salvo::codegen::spirv
