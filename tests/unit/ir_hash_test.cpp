// Digests: stable between processes, blind to source lines, sensitive to everything else.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/builder.hpp"
#include "ir/hash.hpp"

namespace salvo::ir {
namespace {

Kernel guarded_scale(std::uint32_t first_line = 10) {
  Builder b("scale");
  const MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  const std::uint32_t n = b.scalar_parameter("n", Scalar::I32);
  b.variable("v", Scalar::F32);
  b.at("scale.cpp", first_line);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId inside = b.op(Op::Lt, {i, b.param(n)});
  const BlockId then_block = b.open();
  b.at("scale.cpp", first_line + 1);
  b.store(x, i, b.op(Op::Mul, {b.load(x, i), b.constant(Scalar::F32, 0x40000000)}));
  b.close();
  const BlockId else_block = b.open();
  b.close();
  b.if_(inside, then_block, else_block);
  return b.finish();
}

TEST(IrHash, IsAFixedValueOfTheKernel) {
  // Changing this value makes every entry of users' disk caches stale: do it knowingly.
  EXPECT_EQ(hash(guarded_scale()).hex(), "817491f37bdda3846adf8e1a7e0c5ed0");
}

TEST(IrHash, OfBytesIsXxh3) {
  EXPECT_EQ(hash_bytes("", 0).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(IrHash, HexHasTheHighHalfFirstAndKeepsZeros) {
  EXPECT_EQ((Digest{1, 0xabc}.hex()), "00000000000000010000000000000abc");
}

TEST(IrHash, DoesNotSeeSourceLocations) {
  Kernel moved = guarded_scale(99);
  moved.locations.push_back({"unused.cpp", 1});
  EXPECT_EQ(hash(guarded_scale()), hash(moved));
}

TEST(IrHash, SeesEveryOtherMember) {
  const std::vector<std::function<void(Kernel&)>> changes{
      [](Kernel&) {},
      [](Kernel& k) { k.name = "other"; },
      [](Kernel& k) { k.no_fuse = true; },
      [](Kernel& k) { k.body = 1; },
      [](Kernel& k) { k.parameters[0].name = "y"; },
      [](Kernel& k) { k.parameters[0].is_span = false; },
      [](Kernel& k) { k.parameters[0].memory = 7; },
      [](Kernel& k) { k.parameters[1].type = Scalar::U32; },
      [](Kernel& k) { k.parameters[1].slots = 2; },
      [](Kernel& k) { k.memories[0].name = "y"; },
      [](Kernel& k) { k.memories[0].space = Space::Shared; },
      [](Kernel& k) { k.memories[0].count = 3; },
      [](Kernel& k) { k.memories[0].read_only = true; },
      [](Kernel& k) { k.memories[0].parameter = 1; },
      [](Kernel& k) { k.memories[0].element.name = "g"; },
      [](Kernel& k) { k.memories[0].element.size = 8; },
      [](Kernel& k) { k.memories[0].element.align = 8; },
      [](Kernel& k) { k.memories[0].element.fields[0].name = "a"; },
      [](Kernel& k) { k.memories[0].element.fields[0].type = Scalar::I32; },
      [](Kernel& k) { k.memories[0].element.fields[0].offset = 4; },
      [](Kernel& k) {
        k.memories[0].element.fields.push_back({"b", Scalar::F32, 4});
      },
      [](Kernel& k) { k.variables[0].name = "w"; },
      [](Kernel& k) { k.variables[0].type = Scalar::I32; },
      [](Kernel& k) { k.nodes[0].op = Op::ThreadIdx; },
      [](Kernel& k) { k.nodes[0].type = Scalar::I64; },
      [](Kernel& k) { k.nodes[0].axis = 1; },
      [](Kernel& k) { k.nodes[1].index = 0; },
      [](Kernel& k) {
        k.nodes[2].operands = {1, 0, kNoValue, kNoValue};
      },
      [](Kernel& k) { k.nodes[2].operand_count = 1; },
      [](Kernel& k) { k.nodes[3].memory = 1; },
      [](Kernel& k) { k.nodes[3].field = 1; },
      [](Kernel& k) { k.nodes[4].literal = 0x40000001; },
      [](Kernel& k) { k.nodes.back().unroll = 4; },
      [](Kernel& k) {
        k.nodes.back().blocks = {2, 1};
      },
      [](Kernel& k) { k.nodes.back().cases = {-1}; },
      [](Kernel& k) { k.blocks[1].nodes.pop_back(); },
  };
  std::set<Digest> seen;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Kernel kernel = guarded_scale();
    changes[i](kernel);
    EXPECT_TRUE(seen.insert(hash(kernel)).second) << "change " << i;
  }
}

TEST(IrHash, KeepsNeighbouringNamesApart) {
  Builder first("k"), second("k");
  first.variable("ab", Scalar::I32);
  first.variable("c", Scalar::I32);
  second.variable("a", Scalar::I32);
  second.variable("bc", Scalar::I32);
  EXPECT_NE(hash(first.finish()), hash(second.finish()));
}

}  // namespace
}  // namespace salvo::ir
