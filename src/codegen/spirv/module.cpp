// A SPIR-V module being built, in terms of the IR's types.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/module.hpp"

#include <bit>
#include <utility>

#include "salvo/error.hpp"

namespace salvo::codegen::spirv {
namespace {

constexpr unsigned kGenerator = 0;  // no number is registered for this library

/// Kernels ask for no more than they need: drivers take old versions longest.
unsigned version_of(Flavour flavour, bool uses_lanes) {
  if (flavour == Flavour::shader) return spv::Spv_1_5;
  return uses_lanes ? spv::Spv_1_3 : spv::Spv_1_0;
}

bool is_float_arithmetic(spv::Op op) {
  switch (op) {
    case spv::OpFAdd:
    case spv::OpFSub:
    case spv::OpFMul:
    case spv::OpFDiv:
    case spv::OpFNegate:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Module::unsupported(std::string message) const {
  throw Error(Error::Details{.code = Errc::unsupported,
                             .message = std::move(message),
                             .backend = is_kernel() ? "LevelZero" : "Vulkan",
                             .operation = "translate",
                             .kernel = kernel_.name});
}

Module::Module(const ir::Kernel& kernel, const Options& options, bool uses_lanes)
    : spv::Builder(version_of(options.flavour, uses_lanes), kGenerator, &log_),
      kernel_(kernel),
      options_(options),
      words_(words_of(options)),
      uses_lanes_(uses_lanes) {
  if (is_kernel()) {
    begin_kernel();
  } else {
    begin_shader();
  }
  addCapability(spv::CapabilityInt64);
  instruction_set_ = import(words_.instruction_set);
}

void Module::begin_shader() {
  addCapability(spv::CapabilityShader);
  auto addressing = spv::AddressingModelLogical;
  if (options_.buffer_addresses) {
    addCapability(spv::CapabilityPhysicalStorageBufferAddresses);
    addressing = spv::AddressingModelPhysicalStorageBuffer64;
  }
  auto memory = spv::MemoryModelGLSL450;
  if (options_.vulkan_memory_model) {
    addCapability(spv::CapabilityVulkanMemoryModel);
    memory = spv::MemoryModelVulkan;
  }
  setMemoryModel(addressing, memory);
}

void Module::begin_kernel() {
  addCapability(spv::CapabilityKernel);
  addCapability(spv::CapabilityAddresses);
  addCapability(spv::CapabilityInt8);  // spans are pointers to bytes
  setMemoryModel(spv::AddressingModelPhysical64, spv::MemoryModelOpenCL);
}

void Module::open_shader() {
  main_ = makeEntryPoint(kEntry);
}

std::vector<Id> Module::open_kernel(const std::vector<Id>& parameter_types) {
  spv::Block* first = nullptr;
  main_ = makeFunctionEntry(spv::NoPrecision, makeVoidType(), kKernelEntry, parameter_types, {}, {},
                            &first);
  std::vector<Id> ids;
  for (int i = 0; i < static_cast<int>(parameter_types.size()); ++i) {
    ids.push_back(main_->getParamId(i));
  }
  return ids;
}

void Module::require_f64() {
  if (!options_.f64_arithmetic) unsupported("f64 arithmetic, which this device lacks");
  addCapability(spv::CapabilityFloat64);
}

Id Module::type(Scalar type) {
  switch (type) {
    case Scalar::Bool:
      return makeBoolType();
    case Scalar::I64:
    case Scalar::U64:
      return makeUintType(64);
    case Scalar::F32:
      return makeFloatType(32);
    case Scalar::F64:
      require_f64();
      return makeFloatType(64);
    default:
      return makeUintType(32);
  }
}

Id Module::constant(Scalar type, std::uint64_t bits) {
  switch (type) {
    case Scalar::Bool:
      return makeBoolConstant(bits != 0);
    case Scalar::I64:
    case Scalar::U64:
      return makeUint64Constant(bits);
    case Scalar::F32:
      return makeFloatConstant(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Scalar::F64:
      require_f64();
      return makeDoubleConstant(std::bit_cast<double>(bits));
    default:
      return makeUintConstant(static_cast<std::uint32_t>(bits));
  }
}

Id Module::f(Scalar type, double value) {
  return type == Scalar::F32
             ? constant(type, std::bit_cast<std::uint32_t>(static_cast<float>(value)))
             : constant(type, std::bit_cast<std::uint64_t>(value));
}

Id Module::matrix_type(Id component, std::uint32_t rows, std::uint32_t columns, ir::MatrixUse use) {
  constexpr auto kType = static_cast<spv::Op>(4456);  // OpTypeCooperativeMatrixKHR
  const Id of_use = u32(static_cast<std::uint32_t>(use));
  Id& known = matrix_types_[{component, u32(rows), u32(columns), of_use}];
  if (known != 0) return known;
  auto type = std::make_unique<spv::Instruction>(getUniqueId(), spv::NoType, kType);
  for (const Id operand : {component, u32(spv::ScopeSubgroup), u32(rows), u32(columns), of_use}) {
    type->addIdOperand(operand);
  }
  known = type->getResultId();
  constantsTypesGlobals.push_back(std::move(type));
  module.mapInstruction(constantsTypesGlobals.back().get());
  return known;
}

Id Module::specialised(std::uint32_t id, std::uint32_t value) {
  const Id result = makeUintConstant(value, true);
  addDecoration(result, spv::DecorationSpecId, static_cast<int>(id));
  return result;
}

Id Module::emit_typed(spv::Op op, Id result_type, std::vector<Id> operands) {
  const Id result = createOp(op, result_type, operands);
  // A kernel forbids contraction as a whole.
  if (is_float_arithmetic(op) && !options_.contraction && !is_kernel()) {
    addDecoration(result, spv::DecorationNoContraction);
  }
  return result;
}

Id Module::emit(spv::Op op, Scalar result, std::initializer_list<Id> operands) {
  return emit_typed(op, type(result), operands);
}

Id Module::select(Scalar result, Id condition, Id yes, Id no) {
  return emit(spv::OpSelect, result, {condition, yes, no});
}

Id Module::extended_call(int instruction, Scalar result, std::span<const Id> operands) {
  const Id id = createBuiltinCall(type(result), instruction_set_, instruction,
                                  std::vector<Id>(operands.begin(), operands.end()));
  if (!is_kernel() && !options_.contraction &&
      instruction == extended_instruction(options_.flavour, ir::Op::Fma)) {
    addDecoration(id, spv::DecorationNoContraction);
  }
  return id;
}

Id Module::extended(ir::Op op, Scalar result, std::initializer_list<Id> operands) {
  return extended_call(extended_instruction(options_.flavour, op), result,
                       std::span<const Id>(operands.begin(), operands.size()));
}

void Module::branch(spv::Block& to) {
  if (!here().isTerminated()) createBranch(&to);
}

void Module::branch_if(Id condition, spv::Block& yes, spv::Block& no) {
  createConditionalBranch(condition, &yes, &no);
}

void Module::begin_selection(spv::Block& merge) {
  createSelectionMerge(&merge, spv::SelectionControlMaskNone);
}

void Module::begin_loop(spv::Block& merge, spv::Block& next, unsigned control) {
  createLoopMerge(&merge, &next, control, {});
}

Id Module::part_of(spv::StorageClass storage, Id variable, Id part,
                   std::initializer_list<Id> path) {
  std::vector<Id> operands{variable};
  operands.insert(operands.end(), path);
  return createOp(spv::OpAccessChain, makePointer(storage, part), operands);
}

Id Module::global(spv::StorageClass storage, Id type, const char* name) {
  const Id id = createVariable(spv::NoPrecision, storage, type, name);
  // Before version 1.4 an interface is inputs and outputs.
  if (!is_kernel() || storage == spv::StorageClassInput) interface_.push_back(id);
  return id;
}

Id Module::element_of(Id pointer, Id pointer_type, Id index) {
  return createOp(spv::OpInBoundsPtrAccessChain, pointer_type, std::vector<Id>{pointer, index});
}

Id Module::built_in3(spv::BuiltIn which, const char* name) {
  const Id id =
      global(spv::StorageClassInput, makeVectorType(makeUintType(words_.position_bits), 3), name);
  addDecoration(id, spv::DecorationBuiltIn, which);
  return id;
}

Id Module::built_in(spv::BuiltIn which, const char* name) {
  const Id id = global(spv::StorageClassInput, makeUintType(32), name);
  addDecoration(id, spv::DecorationBuiltIn, which);
  return id;
}

void Module::float_controls() {
  const auto ask = [&](const FloatControls& controls, int width) {
    const auto mode = [&](bool there, spv::Capability capability, spv::ExecutionMode execution) {
      if (!there) return;
      addCapability(capability);
      addExecutionMode(main_, execution, width);
    };
    mode(controls.denormals, spv::CapabilityDenormPreserve, spv::ExecutionModeDenormPreserve);
    mode(controls.signed_zero_inf_nan, spv::CapabilitySignedZeroInfNanPreserve,
         spv::ExecutionModeSignedZeroInfNanPreserve);
    mode(controls.round_to_even, spv::CapabilityRoundingModeRTE, spv::ExecutionModeRoundingModeRTE);
  };
  ask(options_.f32, 32);
  ask(options_.f64, 64);
}

void Module::end() {
  if (!here().isTerminated()) makeReturn(true);
}

std::vector<std::uint32_t> Module::finish() {
  end();
  spv::Instruction* entry = nullptr;
  if (is_kernel()) {
    entry = addEntryPoint(spv::ExecutionModelKernel, main_, kKernelEntry);
    if (!options_.contraction) addExecutionMode(main_, spv::ExecutionModeContractionOff);
    if (uses_lanes_) {
      addCapability(spv::CapabilitySubgroupDispatch);
      addExecutionMode(main_, spv::ExecutionModeSubgroupSize, static_cast<int>(options_.warp_size));
    }
  } else {
    entry = addEntryPoint(spv::ExecutionModelGLCompute, main_, kEntry);
    float_controls();
  }
  for (const Id id : interface_) entry->addIdOperand(id);
  std::vector<std::uint32_t> words;
  dump(words);
  return words;
}

}  // namespace salvo::codegen::spirv
