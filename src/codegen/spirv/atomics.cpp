// Atomics on spans and shared arrays: relaxed, in device scope.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "codegen/spirv/arithmetic.hpp"
#include "codegen/spirv/memory.hpp"
#include "codegen/spirv/storage.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

spv::Op instruction_of(Op op, bool is_signed) {
  switch (op) {
    case Op::AtomicAdd:
      return spv::OpAtomicIAdd;
    case Op::AtomicSub:
      return spv::OpAtomicISub;
    case Op::AtomicExchange:
      return spv::OpAtomicExchange;
    case Op::AtomicMin:
      return is_signed ? spv::OpAtomicSMin : spv::OpAtomicUMin;
    case Op::AtomicMax:
      return is_signed ? spv::OpAtomicSMax : spv::OpAtomicUMax;
    case Op::AtomicAnd:
      return spv::OpAtomicAnd;
    case Op::AtomicOr:
      return spv::OpAtomicOr;
    default:
      return spv::OpAtomicXor;
  }
}

Scalar word(unsigned bits) {
  return bits == 64 ? Scalar::U64 : Scalar::U32;
}

}  // namespace

void Memories::require_word(const ir::Node& node) {
  const Scalar type = m_.kernel().field_of(node).type;
  const ir::Memory& memory = m_.kernel().memories[node.memory];
  const bool dynamic = memory.space == ir::Space::Shared && memory.count == 0;
  if (stored_bits(type) < 32 || (dynamic && stored_bits(type) == 64)) {
    m_.unsupported(fmt::format("{} on {} elements{}", ir::name(node.op), ir::name(type),
                               dynamic ? " of dynamic shared memory" : ""));
  }
  if (stored_bits(type) == 64) m_.addCapability(spv::CapabilityInt64Atomics);
}

Id Memories::atomic(const ir::Node& node, Id index, std::span<const Id> operands) {
  require_word(node);
  const Leaf at = leaf(node, index);
  const Scalar type = m_.kernel().field_of(node).type;
  if (node.op == Op::AtomicCompareExchange) {
    return decode(m_, type,
                  exchange(at, encode(m_, type, operands[0]), encode(m_, type, operands[1])));
  }
  const bool by_bits = node.op == Op::AtomicExchange;
  if (ir::is_float(type) && !by_bits) return float_loop(node, at, operands[0]);
  return instruction(node, at, operands);
}

Id Memories::instruction(const ir::Node& node, const Leaf& at, std::span<const Id> operands) {
  const Scalar type = m_.kernel().field_of(node).type;
  const Id old = m_.emit(instruction_of(node.op, ir::is_signed(type)), word(at.bits),
                         {at.pointer, m_.u32(m_.words().device),
                          m_.u32(spv::MemorySemanticsMaskNone), encode(m_, type, operands[0])});
  return decode(m_, type, old);
}

Id Memories::exchange(const Leaf& at, Id expected, Id desired) {
  const Id none = m_.u32(spv::MemorySemanticsMaskNone);
  return m_.emit(spv::OpAtomicCompareExchange, word(at.bits),
                 {at.pointer, m_.u32(m_.words().device), none, none, desired, expected});
}

/// A wrong one costs a round and no more: where loads are not atomic, a plain one will do.
Id Memories::first_guess(const Leaf& at, Scalar bits) {
  if (m_.is_kernel()) return read(at, at.pointer);
  return m_.emit(spv::OpAtomicLoad, bits,
                 {at.pointer, m_.u32(m_.words().device), m_.u32(spv::MemorySemanticsMaskNone)});
}

/// Repeats until nobody came between.
Id Memories::float_loop(const ir::Node& node, const Leaf& at, Id operand) {
  const Scalar type = m_.kernel().field_of(node).type;
  const Scalar bits = word(at.bits);
  if (type == Scalar::F32 && node.op == Op::AtomicAdd && m_.options().float_atomics &&
      at.storage == m_.words().global) {
    m_.addCapability(spv::CapabilityAtomicFloat32AddEXT);
    m_.addExtension("SPV_EXT_shader_atomic_float_add");
    return m_.emit(
        spv::OpAtomicFAddEXT, type,
        {m_.emit_typed(spv::OpBitcast, m_.makePointer(at.storage, m_.type(type)), {at.pointer}),
         m_.u32(m_.words().device), m_.u32(spv::MemorySemanticsMaskNone), operand});
  }
  const Id seen = m_.createVariable(spv::NoPrecision, spv::StorageClassFunction, m_.type(bits));
  m_.createStore(first_guess(at, bits), seen);
  spv::Block& header = m_.new_block();
  spv::Block& body = m_.new_block();
  spv::Block& next = m_.new_block();
  spv::Block& merge = m_.new_block();
  m_.branch(header);
  m_.enter(header);
  m_.begin_loop(merge, next, spv::LoopControlMaskNone);
  m_.branch(body);
  m_.enter(body);
  const Id was_bits = m_.createLoad(seen, spv::NoPrecision);
  const Id was = m_.bitcast(type, was_bits);
  Id now = 0;
  switch (node.op) {
    case Op::AtomicAdd:
      now = m_.emit(spv::OpFAdd, type, {was, operand});
      break;
    case Op::AtomicSub:
      now = m_.emit(spv::OpFSub, type, {was, operand});
      break;
    case Op::AtomicMin:
      now = extremum(m_, type, false, was, operand);
      break;
    case Op::AtomicMax:
      now = extremum(m_, type, true, was, operand);
      break;
    default:
      m_.unsupported(fmt::format("{} on {} elements", ir::name(node.op), ir::name(type)));
  }
  const Id found = exchange(at, was_bits, m_.bitcast(bits, now));
  m_.createStore(found, seen);
  const Id done = m_.emit(spv::OpIEqual, Scalar::Bool, {found, was_bits});
  m_.branch_if(done, merge, next);
  m_.enter(next);
  m_.branch(header);
  m_.enter(merge);
  return was;
}

}  // namespace salvo::codegen::spirv
