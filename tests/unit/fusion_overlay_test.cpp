// Which shared arrays of a fused kernel's members are one, and what they take together.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "fusion/horizontal.hpp"
#include "fusion/shared_overlay.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::fusion {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;

struct Array {
  Element element;
  std::uint32_t count = 0;
  bool atomic = false;
};

Array array(Scalar type, std::uint32_t count, bool atomic = false) {
  return {Element::scalar(type), count, atomic};
}

/// Stores to the last element of each array; to one of atomics by an atomic.
ir::Kernel kernel_with(std::span<const Array> arrays) {
  test::Shapes k("k");
  for (const Array& one : arrays) {
    const ir::MemoryId memory = k.shared_array("a", one.element, one.count);
    const ir::ValueId last = k.constant_i32(static_cast<std::int32_t>(one.count) - 1);
    const ir::ValueId value = k.constant(ir::compute_type(one.element.fields[0].type), 1);
    if (one.atomic) {
      k.atomic(Op::AtomicAdd, memory, {last, value});
    } else {
      k.store(memory, last, value);
    }
  }
  EXPECT_TRUE(ir::verify(k.kernel()).empty()) << ir::print(k.kernel());
  return k.finish();
}

ir::Kernel fused(std::span<const ir::Kernel> kernels) {
  std::vector<Body> bodies;
  for (const ir::Kernel& kernel : kernels) bodies.push_back({&kernel, 1});
  ir::Kernel all = fuse_horizontally(bodies);
  EXPECT_TRUE(ir::verify(all).empty()) << ir::print(all);
  return all;
}

SharedOverlay overlay_of(std::span<const ir::Kernel> kernels) {
  SharedOverlay overlay;
  for (const ir::Kernel& kernel : kernels) overlay.add(shared_arrays(kernel));
  return overlay;
}

/// Lengths of the fused kernel's shared arrays of one type, the longest first.
std::vector<std::uint32_t> lengths(const ir::Kernel& kernel, const Element& element) {
  std::vector<std::uint32_t> all;
  for (const ir::Memory& memory : kernel.memories) {
    if (memory.space == ir::Space::Shared && memory.element == element) {
      all.push_back(memory.count);
    }
  }
  std::ranges::sort(all, std::greater());
  return all;
}

using Lengths = std::vector<std::uint32_t>;

TEST(SharedOverlay, ArraysOfATypeShareByRank) {
  const Array first[] = {array(Scalar::F32, 10), array(Scalar::F32, 200)};
  const Array second[] = {array(Scalar::F32, 100), array(Scalar::I32, 7), array(Scalar::F32, 90)};
  const ir::Kernel members[] = {kernel_with(first), kernel_with(second)};
  const ir::Kernel both = fused(members);
  EXPECT_EQ(lengths(both, Element::scalar(Scalar::F32)), Lengths({200, 90}));
  EXPECT_EQ(lengths(both, Element::scalar(Scalar::I32)), Lengths({7}));
  // Each store goes to an array of its own member's that holds it, and to one for itself.
  std::vector<std::pair<Scalar, std::uint32_t>> stores;
  std::vector<ir::MemoryId> stored;
  for (const ir::Node& node : both.nodes) {
    if (node.op != Op::Store) continue;
    const ir::Memory& memory = both.memories[node.memory];
    const auto index = static_cast<std::uint32_t>(both.node(node.operands[0]).literal);
    EXPECT_LT(index, memory.count);
    stores.emplace_back(memory.element.fields[0].type, index);
    stored.push_back(node.memory);
  }
  ASSERT_EQ(stores.size(), 5U);
  EXPECT_EQ(stores[0], std::make_pair(Scalar::F32, 9U));
  EXPECT_EQ(stores[1], std::make_pair(Scalar::F32, 199U));
  EXPECT_EQ(stores[2], std::make_pair(Scalar::F32, 99U));
  EXPECT_EQ(stores[3], std::make_pair(Scalar::I32, 6U));
  EXPECT_EQ(stores[4], std::make_pair(Scalar::F32, 89U));
  EXPECT_NE(stored[0], stored[1]);
  EXPECT_NE(stored[2], stored[4]);
  EXPECT_EQ(stored[1], stored[2]);
  EXPECT_EQ(stored[0], stored[4]);
}

TEST(SharedOverlay, RecordsShareOnlyIfTheyAreTheSame) {
  const Element pair{"Pair", 8, 4, {{"a", Scalar::F32, 0}, {"b", Scalar::F32, 4}}};
  Element other = pair;
  other.fields[1].type = Scalar::I32;
  const Array first[] = {{pair, 10}}, second[] = {{pair, 20}}, third[] = {{other, 30}};
  const ir::Kernel members[] = {kernel_with(first), kernel_with(second), kernel_with(third)};
  const ir::Kernel all = fused(members);
  EXPECT_EQ(lengths(all, pair), Lengths({20}));
  EXPECT_EQ(lengths(all, other), Lengths({30}));
}

TEST(SharedOverlay, AnArrayOfAtomicsSharesWithSuchAlone) {
  const Array first[] = {array(Scalar::I32, 10, true)}, second[] = {array(Scalar::I32, 20)},
              third[] = {array(Scalar::I32, 5, true)};
  const ir::Kernel members[] = {kernel_with(first), kernel_with(second), kernel_with(third)};
  EXPECT_EQ(lengths(fused(members), Element::scalar(Scalar::I32)), Lengths({20, 10}));
}

TEST(SharedOverlay, BytesAreTheFusedKernelsInAnyOrder) {
  std::mt19937 random(31);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  constexpr Scalar kTypes[] = {Scalar::F32, Scalar::I32, Scalar::I8, Scalar::I64};
  for (int round = 0; round < 50; ++round) {
    std::vector<ir::Kernel> members;
    const std::uint32_t count = 1 + below(4);
    std::uint64_t largest = 0, sum = 0;
    for (std::uint32_t m = 0; m < count; ++m) {
      std::vector<Array> arrays;
      const std::uint32_t declared = below(4);
      for (std::uint32_t a = 0; a < declared; ++a) {
        arrays.push_back(array(kTypes[below(4)], 1 + below(70)));
      }
      members.push_back(kernel_with(arrays));
      largest = std::max(largest, overlay_of({&members.back(), 1}).bytes_with({}));
      sum += (members.back().shared_bytes() + 15) / 16 * 16;
    }
    const std::uint64_t bytes = overlay_of(members).bytes_with({});
    EXPECT_GE(bytes, largest);
    EXPECT_LE(bytes, sum);
    for (int order = 0; order < 4; ++order) {
      std::ranges::shuffle(members, random);
      EXPECT_EQ(overlay_of(members).bytes_with({}), bytes);
      EXPECT_EQ(fused(members).shared_bytes(), bytes);
      const auto last = shared_arrays(members.back());
      EXPECT_EQ(overlay_of(std::span(members).first(count - 1)).bytes_with(last), bytes);
    }
  }
}

}  // namespace
}  // namespace salvo::fusion
