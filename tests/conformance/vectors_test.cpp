// Neighbouring elements and leaves that a thread touches one after the other, which a backend may
// touch at once: the same bytes come out wherever spans begin and whatever they overlap.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

constexpr std::uint32_t kThreads = 48;
constexpr std::uint32_t kEach = 4;  // elements or leaves of a thread

/// Nothing that a launch writes overlaps another span.
constexpr runtime::TranslateOptions kApart{.may_alias = 0};

class Vectors : public OnType {
 protected:
  Scalar type() const { return std::get<1>(GetParam()); }
  std::uint64_t bytes() const { return ir::size_of(type()); }

  /// A span of `count` elements of the type that begins `first` elements into its buffer.
  Value data(std::uint32_t count, std::uint32_t first, std::uint64_t seed) const {
    const std::vector<std::uint64_t>& edges = edge_bits(type());
    std::vector<std::uint64_t> bits;
    for (std::uint64_t i = 0; i < count + first; ++i) {
      bits.push_back(edges[(i * 7 + seed) % edges.size()]);
    }
    Value value = span_of_bits(type(), bits);
    value.offset = first * bytes();
    value.length = count;
    return value;
  }
  /// The same of records with as many leaves.
  Value records(std::uint32_t count, std::uint32_t first, std::uint64_t seed) const {
    Value value = data(kEach * count, kEach * first, seed);
    value.length = count;
    return value;
  }
  ir::Element record() const {
    const auto size = static_cast<std::uint32_t>(bytes());
    ir::Element element{"Four", kEach * size, size, {}};
    for (std::uint32_t leaf = 0; leaf < kEach; ++leaf) {
      element.fields.push_back(
          {std::string(1, static_cast<char>('a' + leaf)), type(), leaf * size});
    }
    return element;
  }
};
SALVO_ON_TYPES(Vectors, Scalar::Bool, Scalar::I8, Scalar::U16, Scalar::I32, Scalar::U64,
               Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64);

/// y[4 i + k] = x[4 i + 3 - k], each index put together anew.
ir::Kernel turned(Scalar type, bool in_place) {
  Shapes k("turned");
  const auto x = k.span_parameter("x", ir::Element::scalar(type), false);
  const auto y = in_place ? x : k.span_parameter("y", ir::Element::scalar(type), false);
  const auto at = [&](std::uint32_t n) {
    const ValueId first = k.op(Op::Mul, {k.position(Op::GlobalIdx, 0), k.constant_i32(kEach)});
    return k.op(Op::Add, {first, k.constant_i32(static_cast<std::int32_t>(n))});
  };
  for (std::uint32_t n = 0; n < kEach; ++n) k.store(y, at(n), k.load(x, at(kEach - 1 - n)));
  return k.finish();
}

TEST_P(Vectors, ElementsOfSpansThatBeginAnywhere) {
  using Firsts = std::pair<std::uint32_t, std::uint32_t>;
  for (const auto& [from, to] : {Firsts{0, 0}, Firsts{1, 0}, Firsts{2, 3}, Firsts{4, 0}}) {
    check({.kernel = turned(type(), false),
           .shape = over(kThreads, kThreads),
           .arguments = {data(kEach * kThreads, from, 0), data(kEach * kThreads, to, 5)},
           .options = kApart});
  }
}

TEST_P(Vectors, ElementsThatAreReadAfterTheyWereWritten) {
  check({.kernel = turned(type(), true),
         .shape = over(kThreads, kThreads),
         .arguments = {data(kEach * kThreads, 0, 0)},
         .options = kApart});
}

TEST_P(Vectors, ElementsOfSpansThatOverlap) {
  for (const std::uint32_t shift : {1U, 2U, 4U}) {
    check({.kernel = turned(type(), false),
           .shape = {{1, 1, 1}, {1, 1, 1}, 0},
           .arguments = {data(2 * kEach, 0, 0), view_of(0, shift * bytes(), kEach)},
           .options = {}});
  }
}

TEST_P(Vectors, LeavesOfRecords) {
  Shapes k("leaves");
  const auto x = k.span_parameter("x", record(), true);
  const auto y = k.span_parameter("y", record(), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  for (std::uint32_t leaf = 0; leaf < kEach; ++leaf) {
    k.store(y, i, k.load(x, i, (leaf + 1) % kEach), leaf);
  }
  const ir::Kernel kernel = k.finish();
  for (const std::uint32_t first : {0U, 1U}) {
    check({.kernel = kernel,
           .shape = over(kThreads, kThreads),
           .arguments = {records(kThreads, first, 0), records(kThreads, 0, 5)},
           .options = kApart});
  }
}

TEST_P(Vectors, ElementsInALoopOfUnknownLength) {
  Shapes k("rounds");
  const auto x = k.span_parameter("x", ir::Element::scalar(type()), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(type()), false);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  k.for_up(k.op(Op::Mul, {k.position(Op::GlobalIdx, 0), k.constant_i32(4 * kEach)}), k.param(n),
           k.constant_i32(4 * kEach * kThreads), [&](ValueId i) {
             for (std::int32_t e = 0; e < static_cast<std::int32_t>(kEach); ++e) {
               const ValueId at = k.op(Op::Add, {i, k.constant_i32(e)});
               k.store(y, at, k.load(x, at));
             }
           });
  const ir::Kernel kernel = k.finish();
  constexpr std::uint32_t kCount = 4 * kEach * kThreads * 7;
  for (const std::uint32_t first : {0U, 1U}) {
    check({.kernel = kernel,
           .shape = over(kThreads, kThreads),
           .arguments = {data(kCount, first, 0), data(kCount, 0, 5), scalar(kCount)},
           .options = kApart});
  }
}

TEST_P(Vectors, NeighboursInSharedArrays) {
  Shapes k("tile");
  const auto x = k.span_parameter("x", ir::Element::scalar(type()), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(type()), false);
  const auto tile = k.shared_array("tile", ir::Element::scalar(type()), kEach * kThreads);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  const auto at = [&](ValueId thread, std::uint32_t n) {
    const ValueId first = k.op(Op::Shl, {thread, k.constant_i32(2)});
    return k.op(Op::Add, {first, k.constant_i32(static_cast<std::int32_t>(n))});
  };
  for (std::uint32_t n = 0; n < kEach; ++n) k.store(tile, at(t, n), k.load(x, at(t, n)));
  k.statement(Op::Barrier);
  const ValueId other = k.op(Op::Sub, {k.constant_i32(kThreads - 1), t});
  for (std::uint32_t n = 0; n < kEach; ++n) k.store(y, at(t, n), k.load(tile, at(other, n)));
  check({.kernel = k.finish(),
         .shape = over(kThreads, kThreads),
         .arguments = {data(kEach * kThreads, 1, 0), data(kEach * kThreads, 0, 5)},
         .options = kApart});
}

class MixedVectors : public OnDevice {};
SALVO_ON_DEVICES(MixedVectors);

TEST_P(MixedVectors, LeavesOfOneSizeAndSeveralTypes) {
  const ir::Element element{"Particle",
                            16,
                            4,
                            {{"x", Scalar::F32, 0},
                             {"y", Scalar::F32, 4},
                             {"weight", Scalar::U32, 8},
                             {"id", Scalar::I32, 12}}};
  Shapes k("particles");
  const auto from = k.span_parameter("from", element, true);
  const auto to = k.span_parameter("to", element, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf) k.store(to, i, k.load(from, i, leaf), leaf);
  Value data = span_of_bits(Scalar::U32, edge_bits(Scalar::U32));
  data.length = data.length / 4;
  const auto count = static_cast<std::uint32_t>(data.length);
  check({.kernel = k.finish(),
         .shape = {{1, 1, 1}, {count, 1, 1}, 0},
         .arguments = {data, zeros(count, 16)},
         .options = kApart});
}

}  // namespace
}  // namespace salvo::conformance
