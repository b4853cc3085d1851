// Cooperative matrices, by SPV_KHR_cooperative_matrix.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/matrices.hpp"

#include "codegen/spirv/storage.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

// Numbers of the extension, which is younger than the builder library.
constexpr auto kCapability = static_cast<spv::Capability>(6022);  // CooperativeMatrixKHR
constexpr auto kLoad = static_cast<spv::Op>(4457);                // OpCooperativeMatrixLoadKHR
constexpr auto kStore = static_cast<spv::Op>(4458);               // OpCooperativeMatrixStoreKHR
constexpr auto kMultiplyAdd = static_cast<spv::Op>(4459);         // OpCooperativeMatrixMulAddKHR

// An ir::MatrixUse is its Cooperative Matrix Use, and an ir::MatrixLayout its Layout.
static_assert(static_cast<int>(ir::MatrixUse::accumulator) == 2);
static_assert(static_cast<int>(ir::MatrixLayout::column_major) == 1);

}  // namespace

Id Matrices::component(Scalar type) {
  if (type == Scalar::BF16) m_.unsupported("cooperative matrices of bf16");
  if (type == Scalar::F32) return m_.type(type);
  m_.addCapability(spv::CapabilityFloat16);
  return m_.half();
}

void Matrices::declare() {
  const ir::Kernel& kernel = m_.kernel();
  if (kernel.matrices.empty()) return;
  m_.addExtension("SPV_KHR_cooperative_matrix");
  m_.addCapability(kCapability);
  for (const ir::Matrix& matrix : kernel.matrices) {
    const Id type = m_.matrix_type(component(matrix.type), matrix.rows, matrix.columns, matrix.use);
    matrices_.push_back({type, m_.createVariable(spv::NoPrecision, spv::StorageClassFunction, type,
                                                 matrix.name.c_str())});
  }
}

Id Matrices::read(std::uint32_t matrix) {
  return m_.createLoad(matrices_[matrix].variable, spv::NoPrecision);
}

void Matrices::fill(const ir::Node& node, Id value) {
  const ir::Matrix& matrix = m_.kernel().matrices[node.index];
  if (matrix.type != Scalar::F32) {
    // OpFConvert may round as it likes.
    const Id pair = m_.emit_typed(spv::OpBitcast, m_.makeVectorType(m_.half(), 2),
                                  {encode(m_, matrix.type, value)});
    value = m_.createOp(spv::OpCompositeExtract, m_.half(),
                        std::vector<spv::IdImmediate>{{true, pair}, {false, 0}});
  }
  const Declared& to = matrices_[node.index];
  m_.createStore(m_.emit_typed(spv::OpCompositeConstruct, to.type, {value}), to.variable);
}

void Matrices::access(const ir::Node& node, const Memories::Elements& elements, Id stride) {
  const Declared& matrix = matrices_[node.index];
  const bool loads = node.op == Op::MatrixLoad;
  std::vector<spv::IdImmediate> operands{{true, elements.pointer}};
  if (!loads) operands.push_back({true, read(node.index)});
  operands.push_back({true, m_.u32(node.axis)});
  operands.push_back({true, stride});
  if (elements.access != spv::MemoryAccessMaskNone) {
    operands.push_back({false, static_cast<unsigned>(elements.access)});
    if ((elements.access & spv::MemoryAccessAlignedMask) != 0) {
      operands.push_back({false, elements.alignment});
    }
  }
  if (loads) {
    m_.createStore(m_.createOp(kLoad, matrix.type, operands), matrix.variable);
  } else {
    m_.createNoResultOp(kStore, operands);
  }
}

void Matrices::multiply_add(const ir::Node& node) {
  const Declared& to = matrices_[node.index];
  const Id a = read(node.matrices[0]), b = read(node.matrices[1]), c = read(node.matrices[2]);
  m_.createStore(m_.emit_typed(kMultiplyAdd, to.type, {a, b, c}), to.variable);
}

void Matrices::copy(const ir::Node& node) {
  m_.createStore(read(node.matrices[0]), matrices_[node.index].variable);
}

}  // namespace salvo::codegen::spirv
