// PTX for the operations between the threads of a warp.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/warp.hpp"

namespace salvo::codegen::ptx {

using ir::Op;
using ir::Scalar;

void WarpOperations::begin() {
  const auto special = [&](std::string_view name) {
    std::string value = to_.fresh(Bank::b32);
    to_.put("mov.u32 {}, %{}", value, name);
    return value;
  };
  const auto word = [&] { return to_.fresh(Bank::b32); };
  lane_ = special("laneid");
  const std::string x = special("tid.x");
  const std::string y = special("tid.y");
  const std::string z = special("tid.z");
  const std::string nx = special("ntid.x");
  const std::string ny = special("ntid.y");
  const std::string nz = special("ntid.z");
  const std::string plane = word();
  const std::string row = word();
  const std::string thread = word();
  const std::string first = word();
  const std::string area = word();
  const std::string threads = word();
  const std::string left = word();
  const std::string bit = word();
  const std::string some = word();
  const std::string whole = to_.fresh(Bank::predicate);
  to_.put("mad.lo.u32 {}, {}, {}, {}", plane, z, ny, y);
  to_.put("mad.lo.u32 {}, {}, {}, {}", thread, plane, nx, x);
  to_.put("and.b32 {}, {}, 0xffffffe0", first, thread);
  to_.put("mul.lo.u32 {}, {}, {}", area, nx, ny);
  to_.put("mul.lo.u32 {}, {}, {}", threads, area, nz);
  to_.put("sub.u32 {}, {}, {}", left, threads, first);
  to_.put("shl.b32 {}, 1, {}", bit, left);
  to_.put("sub.u32 {}, {}, 1", some, bit);
  to_.put("setp.ge.u32 {}, {}, 32", whole, left);
  lanes_ = word();
  to_.put("selp.b32 {}, 0xffffffff, {}, {}", lanes_, some, whole);
}

std::string WarpOperations::shuffle(std::string_view how, Scalar type, const std::string& value,
                                    std::string_view lane, int bound) {
  const auto word = [&](const std::string& from) {
    std::string got = to_.fresh(Bank::b32);
    to_.put("shfl.sync.{}.b32 {}, {}, {}, {}, {}", how, got, from, lane, bound, lanes_);
    return got;
  };
  if (type == Scalar::Bool) {
    const std::string got = word(arithmetic_.select(Scalar::I32, value, "1", "0"));
    std::string result = to_.fresh(Bank::predicate);
    to_.put("setp.ne.b32 {}, {}, 0", result, got);
    return result;
  }
  if (ir::size_of(type) < 8) {
    const std::string bits = arithmetic_.bitcast(Scalar::U32, type, value);
    return arithmetic_.bitcast(type, Scalar::U32, word(bits));
  }
  const std::string bits = arithmetic_.bitcast(Scalar::U64, type, value);
  const std::string low = to_.fresh(Bank::b32);
  const std::string high = to_.fresh(Bank::b32);
  to_.put("mov.b64 {{{}, {}}}, {}", low, high, bits);
  const std::string got_low = word(low);
  const std::string got_high = word(high);
  const std::string got = to_.fresh(Bank::b64);
  to_.put("mov.b64 {}, {{{}, {}}}", got, got_low, got_high);
  return arithmetic_.bitcast(type, Scalar::U64, got);
}

/// Folds halves onto each other, in the order that the IR states; lane 0 ends with the result.
std::string WarpOperations::reduce(Op op, Scalar type, std::string value) {
  const Op combine = op == Op::WarpAdd ? Op::Add : op == Op::WarpMin ? Op::Min : Op::Max;
  for (int half = 16; half > 0; half /= 2) {
    const std::string other = shuffle("down", type, value, fmt::format("{}", half), 31);
    const std::string partner = to_.fresh(Bank::b32);
    const std::string shifted = to_.fresh(Bank::b32);
    const std::string bit = to_.fresh(Bank::b32);
    const std::string present = to_.fresh(Bank::predicate);
    to_.put("add.u32 {}, {}, {}", partner, lane_, half);
    // A shift by 32 and more gives no bit.
    to_.put("shr.u32 {}, {}, {}", shifted, lanes_, partner);
    to_.put("and.b32 {}, {}, 1", bit, shifted);
    to_.put("setp.ne.b32 {}, {}, 0", present, bit);
    value =
        arithmetic_.select(type, present, arithmetic_.binary(combine, type, value, other), value);
  }
  return shuffle("idx", type, value, "0", 31);
}

std::string WarpOperations::operation(Op op, Scalar type, std::span<const std::string> operands) {
  const std::string& value = operands[0];
  const auto vote = [&](std::string_view how) {
    std::string result = to_.fresh(Bank::predicate);
    to_.put("vote.sync.{}.pred {}, {}, {}", how, result, value, lanes_);
    return result;
  };
  switch (op) {
    case Op::Shuffle:
      return shuffle("idx", type, value, operands[1], 31);
    case Op::ShuffleUp:
      return shuffle("up", type, value, operands[1], 0);
    case Op::ShuffleDown:
      return shuffle("down", type, value, operands[1], 31);
    case Op::ShuffleXor:
      return shuffle("bfly", type, value, operands[1], 31);
    case Op::Any:
      return vote("any");
    case Op::All:
      return vote("all");
    case Op::Ballot: {
      const std::string bits = to_.fresh(Bank::b32);
      std::string result = to_.fresh(Bank::b64);
      to_.put("vote.sync.ballot.b32 {}, {}, {}", bits, value, lanes_);
      to_.put("cvt.u64.u32 {}, {}", result, bits);
      return result;
    }
    default:
      return reduce(op, type, value);
  }
}

}  // namespace salvo::codegen::ptx
