// A SPIR-V module being built, in terms of the IR's types.
// SPDX-License-Identifier: MIT
#pragma once

#include <glslang/SPIRV/SpvBuilder.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/spirv/flavour.hpp"
#include "codegen/spirv/options.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::spirv {

using ir::Scalar;
using spv::Id;

/// Integers have no sign here: instructions do. Bool is SPIR-V's own type, which has no bits.
class Module : private spv::Builder {
 public:
  /// `uses_lanes`: passes::Summary's.
  Module(const ir::Kernel& kernel, const Options& options, bool uses_lanes);

  const ir::Kernel& kernel() const noexcept { return kernel_; }
  const Options& options() const noexcept { return options_; }
  const Words& words() const noexcept { return words_; }
  bool is_kernel() const noexcept { return options_.flavour == Flavour::kernel; }

  /// Throws Errc::unsupported in the kernel's name.
  [[noreturn]] void unsupported(std::string message) const;

  // The entry point: one of these, before any instruction.
  void open_shader();
  /// Returns the ids of the parameters.
  std::vector<Id> open_kernel(const std::vector<Id>& parameter_types);

  // Types and constants.
  Id type(Scalar type);  // of a value in a register: a compute type
  Id integer(unsigned bits) { return makeUintType(static_cast<int>(bits)); }
  Id constant(Scalar type, std::uint64_t bits);
  Id u32(std::uint32_t value) { return makeUintConstant(value); }
  Id f(Scalar type, double value);  // a float constant
  Id half() { return makeFloatType(16); }
  /// A cooperative matrix of a subgroup.
  Id matrix_type(Id component, std::uint32_t rows, std::uint32_t columns, ir::MatrixUse use);
  /// A constant set when the pipeline is made.
  Id specialised(std::uint32_t id, std::uint32_t value);

  // Instructions, appended to the current block.
  /// Float arithmetic is marked NoContraction.
  Id emit(spv::Op op, Scalar result, std::initializer_list<Id> operands);
  Id emit_typed(spv::Op op, Id result_type, std::vector<Id> operands);
  Id select(Scalar type, Id condition, Id yes, Id no);
  Id bitcast(Scalar to, Id value) { return emit(spv::OpBitcast, to, {value}); }
  /// What the flavour's library calls `op`, whatever it means there.
  Id extended(ir::Op op, Scalar result, std::initializer_list<Id> operands);
  /// An instruction of the flavour's library by its number there.
  Id extended_call(int instruction, Scalar result, std::span<const Id> operands);

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
  using spv::Builder::createNoResultOp;
  using spv::Builder::createOp;
  using spv::Builder::createStore;
  using spv::Builder::createVariable;
  using spv::Builder::makeArrayType;
  using spv::Builder::makeCompositeConstant;
  using spv::Builder::makePointer;
  using spv::Builder::makeRuntimeArray;
  using spv::Builder::makeStructType;
  using spv::Builder::makeUintConstant;
  using spv::Builder::makeVectorType;

  /// A variable outside the function, listed in the entry point's interface.
  Id global(spv::StorageClass storage, Id type, const char* name);
  /// A pointer's element `index`; the pointer is of the type that points to the element.
  Id element_of(Id pointer, Id pointer_type, Id index);
  /// A vector of three built-in values.
  Id built_in3(spv::BuiltIn which, const char* name);
  Id built_in(spv::BuiltIn which, const char* name);

  void end();  // returns from the kernel
  std::vector<std::uint32_t> finish();

 private:
  void float_controls();
  void begin_shader();
  void begin_kernel();
  void require_f64();

  const ir::Kernel& kernel_;
  const Options& options_;
  const Words words_;
  const bool uses_lanes_;
  spv::SpvBuildLogger log_;
  spv::Function* main_ = nullptr;
  Id instruction_set_ = 0;
  std::vector<Id> interface_;
  std::map<std::array<Id, 4>, Id> matrix_types_;
};

}  // namespace salvo::codegen::spirv
