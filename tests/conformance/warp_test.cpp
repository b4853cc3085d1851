// Warp operations, on devices that have them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Warps : public OnDevice {
 protected:
  /// y[k] = an operation on values that differ from lane to lane, one warp wide.
  void check_lanes(std::initializer_list<Scalar> types,
                   const std::function<ValueId(Shapes&, ValueId value, ValueId lane)>& body) {
    for (Scalar type : types) {
      SCOPED_TRACE(name(type));
      Shapes k("lanes");
      const ValueId lane = k.position(Op::LaneId, 0);
      const ValueId mixed = k.op(Op::Mul, {lane, k.constant_i32(37)});
      const ValueId small = k.op(Op::And, {mixed, k.constant_i32(63)});
      const ValueId result = body(k, k.cast(type, small), lane);
      const Scalar stored = k.kernel().nodes[result].type;
      const auto y = k.span_parameter("y", ir::Element::scalar(stored), false);
      k.store(y, k.position(Op::GlobalIdx, 0), result);
      const std::uint32_t threads = 2 * std::max(driver().properties().warp_size, 32u);
      check({.kernel = k.finish(),
             .shape = {{1, 1, 1}, {threads, 1, 1}, 0},
             .arguments = {zeros(threads, ir::size_of(stored))},
             .options = {}});
    }
  }
};
SALVO_ON_DEVICES(Warps);

TEST_P(Warps, ShufflesReadAnotherLane) {
  for (Op op : {Op::Shuffle, Op::ShuffleXor}) {
    check_lanes({Scalar::I32, Scalar::U32, Scalar::F32, Scalar::I64},
                [&](Shapes& k, ValueId value, ValueId) {
                  return k.op(op, {value, k.constant_i32(3)});
                });
  }
}

TEST_P(Warps, ShufflesKeepTheirOwnValueAtTheEnds) {
  for (Op op : {Op::ShuffleUp, Op::ShuffleDown}) {
    check_lanes({Scalar::I32, Scalar::F32}, [&](Shapes& k, ValueId value, ValueId) {
      return k.op(op, {value, k.constant_i32(3)});
    });
  }
}

TEST_P(Warps, VotesAgreeInAllLanes) {
  for (Op op : {Op::Any, Op::All, Op::Ballot}) {
    check_lanes({Scalar::I32}, [&](Shapes& k, ValueId value, ValueId) {
      return k.op(op, {k.op(Op::Gt, {value, k.constant_i32(20)})});
    });
  }
}

TEST_P(Warps, ReductionsAreExactOnIntegers) {
  for (Op op : {Op::WarpAdd, Op::WarpMin, Op::WarpMax}) {
    check_lanes({Scalar::I32, Scalar::U32, Scalar::I64},
                [&](Shapes& k, ValueId value, ValueId) { return k.op(op, {value}); });
  }
}

}  // namespace
}  // namespace salvo::conformance
