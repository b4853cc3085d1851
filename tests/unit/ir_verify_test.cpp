// Every rule of well-formed kernels: a sound kernel passes, one fault yields one message.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ir/verify.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Declarations and a few values that the faults below build upon.
struct Base {
  test::Shapes b{"k"};
  MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  MemoryId in = b.span_parameter("in", Element::scalar(Scalar::I16), true);
  MemoryId table = b.span_parameter("table", Element::scalar(Scalar::I32), false, 3);
  std::uint32_t n = b.scalar_parameter("n", Scalar::U8);
  MemoryId tile = b.shared_array("tile", Element::scalar(Scalar::U32), 16);
  MemoryId local = b.local_array("local", Element::scalar(Scalar::F64), 2);
  std::uint32_t v = b.variable("v", Scalar::F32);
  ValueId i = (b.at("k.cpp", 7), b.position(Op::GlobalIdx, 0));
  ValueId f = b.constant(Scalar::F32, 0x3f800000);
  ValueId yes = b.constant_bool(true);

  ValueId add(Node node) { return b.append(std::move(node)); }
  BlockId empty() { return b.block(nullptr); }
};

TEST(IrVerify, AcceptsEveryKindOfNode) {
  Base k;
  test::Shapes& b = k.b;
  const ValueId one = b.constant_i32(1);
  const ValueId wide = b.constant(Scalar::U64, 3);
  b.param(k.n);
  b.length(k.x);
  b.length(k.table, one);
  b.op(Op::Fma, {k.f, k.f, k.f});
  b.op(Op::Shl, {wide, one});
  b.op(Op::Select, {k.yes, k.f, k.f});
  b.op(Op::And, {k.yes, k.yes});
  b.op(Op::IsNan, {k.f});
  b.op(Op::Atan2, {k.f, k.f});
  b.cast(Scalar::F64, k.yes);
  k.add(test::make_node(Op::Bitcast, Scalar::U32, {k.f}));
  b.store(k.x, wide, k.f);
  b.store(k.table, k.i, b.load(k.in, k.i), 0, one);
  b.store(k.local, one, b.load(k.local, one));
  b.atomic(Op::AtomicCompareExchange, k.table, {k.i, one, one, one});
  b.atomic(Op::AtomicAdd, k.x, {k.i, k.f});
  b.var_set(k.v, k.f);
  b.for_up(one, one, one, [&](ValueId counter) {
    b.op(Op::Neg, {counter});
    b.while_loop([&] { return b.op(Op::Not, {k.yes}); }, [&] { b.statement(Op::Break); });
    b.if_else(k.yes, [&] { b.statement(Op::Continue); });
    b.statement(Op::Return);
  });
  b.switch_on(one, {-1, 4}, {nullptr, nullptr, nullptr});
  b.statement(Op::Barrier);
  b.statement(Op::Fence, 1);
  b.op(Op::ShuffleUp, {k.f, one});
  b.op(Op::Any, {k.yes});
  b.op(Op::Ballot, {k.yes});
  b.op(Op::WarpAdd, {k.f});
  EXPECT_THAT(verify(b.kernel()), IsEmpty());
}

TEST(IrVerify, NamesNodeAndLine) {
  Base k;
  k.add(test::make_node(Op::Add, Scalar::I32, {k.i, k.f}));
  EXPECT_THAT(verify(k.b.kernel()),
              ElementsAre("%3 add operand 1 is f32 instead of i32 (k.cpp:7)"));
}

struct Fault {
  std::function<void(Base&)> make;
  const char* message;
};

TEST(IrVerify, FindsEveryFaultAndNothingElse) {
  const std::vector<Fault> faults{
      // Types.
      {[](Base& k) {
         k.add(test::make_node(Op::Add, Scalar::F32, {k.i, k.i}));
       },
       "result type f32"},
      {[](Base& k) {
         k.add(test::make_node(Op::Add, Scalar::Bool, {k.yes, k.yes}));
       },
       "instead of a number"},
      {[](Base& k) {
         k.add(test::make_node(Op::Rem, Scalar::F32, {k.f, k.f}));
       },
       "instead of an integer"},
      {[](Base& k) {
         k.add(test::make_node(Op::Xor, Scalar::F32, {k.f, k.f}));
       },
       "an integer or bool"},
      {[](Base& k) { k.add(test::make_node(Op::Sin, Scalar::I32, {k.i})); }, "instead of a float"},
      {[](Base& k) {
         k.add(test::make_node(Op::Lt, Scalar::I32, {k.i, k.i}));
       },
       "instead of bool"},
      {[](Base& k) { k.add(test::make_node(Op::Any, Scalar::Bool, {k.i})); }, "instead of bool"},
      {[](Base& k) { k.add(test::make_node(Op::Ballot, Scalar::U32, {k.yes})); }, "instead of u64"},
      {[](Base& k) {
         k.add(test::make_node(Op::Shuffle, Scalar::F32, {k.f, k.f}));
       },
       "operand 1 is f32"},
      {[](Base& k) {
         k.add(test::make_node(Op::Shl, Scalar::I32, {k.i, k.f}));
       },
       "operand 1 is f32"},
      {[](Base& k) {
         k.add(test::make_node(Op::Select, Scalar::F32, {k.i, k.f, k.f}));
       },
       "operand 0 is i32"},
      {[](Base& k) {
         k.add(test::make_node(Op::Select, Scalar::F32, {k.yes, k.f, k.i}));
       },
       "operand 2"},
      {[](Base& k) { k.add(test::make_node(Op::Bitcast, Scalar::I64, {k.f})); },
       "changes the width"},
      {[](Base& k) { k.add(test::make_node(Op::Cast, Scalar::F16, {k.f})); }, "for storage only"},
      {[](Base& k) { k.b.constant(Scalar::I32, ~std::uint64_t{0}); }, "does not fit i32"},
      {[](Base& k) { k.b.constant(Scalar::Bool, 2); }, "does not fit bool"},
      {[](Base& k) { k.b.position(Op::GridDim, 3); }, "no axis 3"},
      {[](Base& k) { k.b.statement(Op::Fence, 2); }, "unknown scope 2"},
      // Operands.
      {[](Base& k) { k.add(test::make_node(Op::Add, Scalar::I32, {k.i})); },
       "1 operands instead of 2"},
      {[](Base& k) { k.add(test::make_node(Op::Barrier, Scalar::I32, {k.i})); },
       "1 operands instead of 0"},
      {[](Base& k) { k.add(test::make_node(Op::Not, Scalar::Bool, {3})); }, "uses %3 (operand 0)"},
      {[](Base& k) { k.add(test::make_node(Op::Not, Scalar::Bool, {99})); },
       "uses %99 (operand 0)"},
      {[](Base& k) { k.add(test::make_node(Op::Not, Scalar::Bool, {kNoValue})); },
       "uses %? (operand 0)"},
      {[](Base& k) { k.add(test::make_node(Op::Neg, Scalar::I32, {k.b.statement(Op::Barrier)})); },
       "uses %3 (operand 0)"},
      {[](Base& k) {
         const BlockId then_block = k.b.open();
         const ValueId inner = k.b.constant_bool(true);
         k.b.close();
         k.b.if_(k.yes, then_block, k.empty());
         k.b.op(Op::Not, {inner});
       },
       "uses %3 (operand 0)"},
      {[](Base& k) {
         ValueId again = kNoValue;
         k.b.while_loop([&] { return again = k.b.constant_bool(true); },
                        [&] { k.b.op(Op::Not, {again}); });
       },
       "uses %3 (operand 0)"},
      {[](Base& k) { k.b.while_loop([&] { return k.i; }, [] {}); }, "operand 0 is i32"},
      // Tables.
      {[](Base& k) { k.b.kernel().parameters[k.n].slots = 0; }, "'n' has no slot"},
      {[](Base& k) { k.b.kernel().parameters[0].memory = 1; }, "do not refer to each other"},
      {[](Base& k) { k.b.kernel().memories[k.tile].space = Space::Global; }, "no span parameter"},
      {[](Base& k) { k.b.kernel().memories[k.tile].parameter = 0; }, "names a parameter"},
      {[](Base& k) { k.b.kernel().memories[k.tile].read_only = true; }, "nothing could fill it"},
      {[](Base& k) { k.b.kernel().memories[k.local].count = 0; }, "has no elements"},
      {[](Base& k) {
         k.b.kernel().memories[k.tile].count = 0;
         k.b.shared_array("second", Element::scalar(Scalar::F32), 0);
       },
       "'second' is a second dynamic"},
      {[](Base& k) { k.b.kernel().memories[k.tile].element.size = 0; }, "are empty"},
      {[](Base& k) { k.b.kernel().memories[k.tile].element.align = 3; }, "alignment 3"},
      {[](Base& k) { k.b.kernel().memories[k.tile].element.fields[0].offset = 4; }, "lies at 4"},
      {[](Base& k) { k.b.kernel().variables[k.v].type = Scalar::BF16; }, "variable 'v' is bf16"},
      {[](Base& k) { k.b.kernel().body = 99; }, "has no body"},
      // Names.
      {[](Base& k) { k.b.kernel().nodes[k.b.param(k.n)].index = 9; }, "parameter 9 of 4"},
      {[](Base& k) { k.b.kernel().nodes[k.b.param(k.n)].index = 0; }, "the span 'x' as a scalar"},
      {[](Base& k) { k.b.kernel().nodes[k.b.param(k.n)].type = Scalar::F32; }, "instead of u32"},
      {[](Base& k) { k.b.kernel().nodes[k.b.var_get(k.v)].index = 1; }, "variable 1 of 1"},
      {[](Base& k) { k.b.kernel().nodes[k.b.var_get(k.v)].type = Scalar::I32; }, "instead of f32"},
      {[](Base& k) { k.b.var_set(k.v, k.i); }, "operand 0 is i32 instead of f32"},
      {[](Base& k) { k.b.kernel().nodes[k.b.load(k.x, k.i)].memory = 9; }, "memory 9 of 5"},
      {[](Base& k) { k.b.kernel().nodes[k.b.load(k.x, k.i)].field = 1; }, "field 1 of 'x'"},
      {[](Base& k) { k.b.kernel().nodes[k.b.load(k.in, k.i)].type = Scalar::F32; }, "of i32"},
      {[](Base& k) { k.b.length(k.tile); }, "no span"},
      {[](Base& k) { k.b.load(k.x, k.f); }, "operand 0 is f32 instead of an integer"},
      {[](Base& k) { k.b.store(k.x, k.i, k.i); }, "operand 1 is i32 instead of f32"},
      {[](Base& k) { k.b.store(k.in, k.i, k.i); }, "'in', which is read-only"},
      {[](Base& k) { k.b.load(k.table, k.i); }, "1 operands instead of 2"},
      {[](Base& k) { k.b.load(k.x, k.i, 0, k.i); }, "2 operands instead of 1"},
      {[](Base& k) { k.b.load(k.table, k.i, 0, k.f); }, "operand 1 is f32 instead of an integer"},
      // Atomics.
      {[](Base& k) {
         k.b.atomic(Op::AtomicMax, k.x, {k.i, k.f});
       },
       "cannot work on f32"},
      {[](Base& k) {
         k.b.atomic(Op::AtomicAdd, k.local, {k.i, k.b.cast(Scalar::F64, k.f)});
       },
       "on local array 'local'"},
      {[](Base& k) {
         k.b.atomic(Op::AtomicAdd, k.tile, {k.i, k.i});
       },
       "operand 1 is i32 instead of u32"},
      // Control.
      {[](Base& k) { k.b.if_(k.i, k.empty(), k.empty()); }, "operand 0 is i32"},
      {[](Base& k) { k.b.kernel().nodes[k.b.if_(k.yes, k.empty(), 9)].blocks[1] = 9; },
       "owns block 9"},
      {[](Base& k) {
         Node node = test::make_node(Op::If, Scalar::I32, {k.yes});
         node.blocks = {k.empty()};
         k.add(node);
       },
       "1 blocks instead of 2"},
      {[](Base& k) {
         const BlockId twice = k.empty();
         k.b.if_(k.yes, twice, twice);
       },
       "belongs to two nodes"},
      {[](Base& k) { k.b.for_up(k.f, k.f, k.f, [](ValueId) {}); }, "operand 0 is f32"},
      {[](Base& k) { k.b.kernel().nodes[k.b.for_up(k.i, k.i, k.i, [](ValueId) {})].literal = 2; },
       "unknown direction 2"},
      {[](Base& k) { k.b.op(Op::ForIndex, {k.b.for_up(k.i, k.i, k.i, [](ValueId) {})}); },
       "not inside the for loop"},
      {[](Base& k) {
         k.b.for_up(k.i, k.i, k.i,
                    [&](ValueId counter) { k.b.kernel().nodes[counter].type = Scalar::I64; });
       },
       "instead of i32"},
      {[](Base& k) { k.b.statement(Op::Break); }, "is outside any loop"},
      {[](Base& k) {
         k.b.while_loop(
             [&] {
               k.b.statement(Op::Return);
               return k.yes;
             },
             [] {});
       },
       "inside the condition"},
      {[](Base& k) {
         k.b.switch_on(k.i, {2, 2}, {nullptr, nullptr, nullptr});
       },
       "case 2 twice"},
      {[](Base& k) {
         k.b.switch_on(k.i, {std::int64_t{1} << 40}, {nullptr, nullptr});
       },
       "does not fit i32"},
      {[](Base& k) {
         Node node = test::make_node(Op::Switch, Scalar::I32, {k.i});
         node.blocks = {k.empty(), k.empty()};
         k.add(node);
       },
       "2 blocks instead of 1"},
      // Lists.
      {[](Base& k) { k.b.kernel().blocks[0].nodes.push_back(k.i); }, "is listed twice"},
      {[](Base& k) { k.b.kernel().blocks[0].nodes.push_back(77); }, "lists %77"},
      {[](Base& k) { k.b.kernel().blocks[0].nodes.pop_back(); }, "%2 constant is in no block"},
      {[](Base& k) { k.empty(); }, "block 1 belongs to no node"},
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    Base k;
    faults[i].make(k);
    EXPECT_THAT(verify(k.b.kernel()), ElementsAre(HasSubstr(faults[i].message))) << "fault " << i;
  }
}

}  // namespace
}  // namespace salvo::ir
