// A SPIR-V module being built, in terms of the IR's types.
// SPDX-License-Identifier: MIT
#pragma once

#include <glslang/SPIRV/GLSL.std.450.h>
#include <glslang/SPIRV/SpvBuilder.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "codegen/spirv/options.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::spirv {

using ir::Scalar;
using spv::Id;

/// Throws Errc::unsupported in the words of this target.
[[noreturn]] void unsupported(const ir::Kernel& kernel, std::string message);

/// Integers have no sign here: instructions do. Bool is SPIR-V's own type, which has no bits.
class Module : private spv::Builder {
 public:
  Module(const ir::Kernel& kernel, const Options& options);

  const ir::Kernel& kernel() const noexcept { return kernel_; }
  const Options& options() const noexcept { return options_; }

  // Types and constants.
  Id type(Scalar type);  // of a value in a register: a compute type
  Id integer(unsigned bits) { return makeUintType(static_cast<int>(bits)); }
  Id constant(Scalar type, std::uint64_t bits);
  Id u32(std::uint32_t value) { return makeUintConstant(value); }
  Id f(Scalar type, double value);  // a float constant
  /// A constant set when the pipeline is made.
  Id specialised(std::uint32_t id, std::uint32_t value);

  // Instructions, appended to the current block.
  /// Float arithmetic is marked NoContraction.
  Id emit(spv::Op op, Scalar result, std::initializer_list<Id> operands);
  Id emit_typed(spv::Op op, Id result_type, std::vector<Id> operands);
  Id select(Scalar type, Id condition, Id yes, Id no);
  Id bitcast(Scalar to, Id value) { return emit(spv::OpBitcast, to, {value}); }
  /// A function of GLSL.std.450.
  Id glsl(GLSLstd450 function, Scalar result, std::initializer_list<Id> operands) {
    return glsl(function, result, std::span<const Id>(operands.begin(), operands.size()));
  }
  Id glsl(GLSLstd450 function, Scalar result, std::span<const Id> operands);

  // Control flow.
  spv::Block& new_block() { return makeNewBlock(); }
  void enter(spv::Block& block) { setBuildPoint(&block); }
  spv::Block& here() const { return *getBuildPoint(); }
  void branch(spv::Block& to);  // unless the block has ended already
  void branch_if(Id condition, spv::Block& yes, spv::Block& no);
  void begin_selection(spv::Block& merge);
  void begin_loop(spv::Block& merge, spv::Block& next, unsigned control);

  /// Pointer to a part of a variable, which is of type `part`.
  Id part_of(spv::StorageClass storage, Id variable, Id part, std::initializer_list<Id> path);

  using spv::Builder::addCapability;
  using spv::Builder::addDecoration;
  using spv::Builder::addExtension;
  using spv::Builder::addMemberDecoration;
  using spv::Builder::createControlBarrier;
  using spv::Builder::createLoad;
  using spv::Builder::createMemoryBarrier;
  using spv::Builder::createOp;
  using spv::Builder::createStore;
  using spv::Builder::createVariable;
  using spv::Builder::makeArrayType;
  using spv::Builder::makeCompositeConstant;
  using spv::Builder::makePointer;
  using spv::Builder::makeStructType;
  using spv::Builder::makeUintConstant;
  using spv::Builder::makeVectorType;

  /// A variable outside the function, listed in the entry point's interface.
  Id global(spv::StorageClass storage, Id type, const char* name);
  /// A vector of three built-in values.
  Id built_in3(spv::BuiltIn which, const char* name);
  Id built_in(spv::BuiltIn which, const char* name);

  void end();  // returns from the kernel
  std::vector<std::uint32_t> finish();

 private:
  void float_controls();
  void require_f64();

  const ir::Kernel& kernel_;
  const Options& options_;
  spv::SpvBuildLogger log_;
  spv::Function* main_ = nullptr;
  Id glsl_ = 0;
  std::vector<Id> interface_;
};

}  // namespace salvo::codegen::spirv
