// Operations between the threads of a warp, which SPIR-V calls a subgroup.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/warp.hpp"

#include "codegen/spirv/arithmetic.hpp"

namespace salvo::codegen::spirv {

using ir::Op;

Id Warp::lane() {
  m_.addCapability(spv::CapabilityGroupNonUniform);
  if (lane_ == 0) lane_ = m_.built_in(spv::BuiltInSubgroupLocalInvocationId, "lane");
  return m_.createLoad(lane_, spv::NoPrecision);
}

Id Warp::size() {
  // A kernel's warps are as wide as its execution mode says.
  if (m_.is_kernel()) return m_.u32(m_.options().warp_size);
  m_.addCapability(spv::CapabilityGroupNonUniform);
  if (size_ == 0) size_ = m_.built_in(spv::BuiltInSubgroupSize, "warp_size");
  return m_.createLoad(size_, spv::NoPrecision);
}

Id Warp::emit(const ir::Node& node, std::span<const Id> in) {
  const Id scope = m_.u32(spv::ScopeSubgroup);
  switch (node.op) {
    case Op::Any:
      m_.addCapability(spv::CapabilityGroupNonUniformVote);
      return m_.emit(spv::OpGroupNonUniformAny, Scalar::Bool, {scope, in[0]});
    case Op::All:
      m_.addCapability(spv::CapabilityGroupNonUniformVote);
      return m_.emit(spv::OpGroupNonUniformAll, Scalar::Bool, {scope, in[0]});
    case Op::Ballot:
      return ballot(in[0]);
    case Op::WarpAdd:
    case Op::WarpMin:
    case Op::WarpMax:
      return reduce(node, in[0]);
    default:
      return shuffle(node, in);
  }
}

Id Warp::ballot(Id value) {
  m_.addCapability(spv::CapabilityGroupNonUniformBallot);
  const Id mask = m_.emit_typed(spv::OpGroupNonUniformBallot, m_.makeVectorType(m_.integer(32), 4),
                                {m_.u32(spv::ScopeSubgroup), value});
  const auto word = [&](unsigned i) {
    const Id part = m_.createOp(spv::OpCompositeExtract, m_.integer(32),
                                std::vector<spv::IdImmediate>{{true, mask}, {false, i}});
    return m_.emit(spv::OpUConvert, Scalar::U64, {part});
  };
  const Id high =
      m_.emit(spv::OpShiftLeftLogical, Scalar::U64, {word(1), m_.constant(Scalar::U64, 32)});
  return m_.emit(spv::OpBitwiseOr, Scalar::U64, {word(0), high});
}

Id Warp::shuffle(const ir::Node& node, std::span<const Id> in) {
  m_.addCapability(spv::CapabilityGroupNonUniformShuffle);
  const auto add = [&](spv::Op op, Id a, Id b) { return m_.emit(op, Scalar::U32, {a, b}); };
  Id source = in[1];
  switch (node.op) {
    case Op::ShuffleXor:
      source = add(spv::OpBitwiseXor, lane(), in[1]);
      break;
    case Op::ShuffleUp: {  // a lane that has nobody below it keeps its own value
      const Id mine = lane();
      const Id out = m_.emit(spv::OpUGreaterThan, Scalar::Bool, {in[1], mine});
      source = m_.select(Scalar::U32, out, mine, add(spv::OpISub, mine, in[1]));
      break;
    }
    case Op::ShuffleDown: {
      const Id mine = lane();
      const Id left = add(spv::OpISub, add(spv::OpISub, size(), m_.u32(1)), mine);
      const Id out = m_.emit(spv::OpUGreaterThan, Scalar::Bool, {in[1], left});
      source = m_.select(Scalar::U32, out, mine, add(spv::OpIAdd, mine, in[1]));
      break;
    }
    default:
      break;
  }
  return m_.emit(spv::OpGroupNonUniformShuffle, node.type,
                 {m_.u32(spv::ScopeSubgroup), in[0], source});
}

/// Halves are exchanged, so that sums of floats have one stated order.
Id Warp::reduce(const ir::Node& node, Id value) {
  m_.addCapability(spv::CapabilityGroupNonUniformShuffle);
  const bool is_float = ir::is_float(node.type);
  const auto combine = [&](Id a, Id b) {
    if (node.op != Op::WarpAdd) return extremum(m_, node.type, node.op == Op::WarpMax, a, b);
    return m_.emit(is_float ? spv::OpFAdd : spv::OpIAdd, node.type, {a, b});
  };
  for (std::uint32_t half = m_.options().warp_size / 2; half > 0; half /= 2) {
    const Id other = m_.emit(spv::OpBitwiseXor, Scalar::U32, {lane(), m_.u32(half)});
    value = combine(value, m_.emit(spv::OpGroupNonUniformShuffle, node.type,
                                   {m_.u32(spv::ScopeSubgroup), value, other}));
  }
  return value;
}

}  // namespace salvo::codegen::spirv
