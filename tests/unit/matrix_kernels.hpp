// Kernels with cooperative matrices, for tests of all that they pass through.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "salvo/properties.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::test {

using ir::MatrixLayout;
using ir::MatrixUse;

/// How the product below moves its matrices.
struct Moves {
  MatrixLayout a = MatrixLayout::row_major;
  MatrixLayout b = MatrixLayout::row_major;
  MatrixLayout sum = MatrixLayout::row_major;
  bool through_shared = false;  // of a and b
  std::uint32_t rounds = 1;     // multiply-adds with the same a and b
};

/// d = rounds * a * b + c of one warp, whole matrices without gaps; of four spans a, b, c, d.
inline ir::Kernel matrix_product(const CooperativeMatrixShape& shape, const Moves& moves = {}) {
  Shapes k("product");
  k.at("product.cpp", 1);
  const auto span = [&](const char* name, ir::Scalar type, bool read_only) {
    return k.span_parameter(name, ir::Element::scalar(type), read_only);
  };
  const ir::MemoryId a = span("a", shape.inputs, true), b = span("b", shape.inputs, true);
  const ir::MemoryId c = span("c", shape.accumulator, true),
                     d = span("d", shape.accumulator, false);
  const auto stride = [&](std::uint32_t rows, std::uint32_t columns, MatrixLayout layout) {
    return k.constant_i32(
        static_cast<std::int32_t>(layout == MatrixLayout::row_major ? columns : rows));
  };
  const ir::ValueId zero = k.constant_i32(0);
  const auto staged = [&](ir::MemoryId from, const char* name, std::uint32_t elements) {
    if (!moves.through_shared) return from;
    const ir::MemoryId tile = k.shared_array(name, ir::Element::scalar(shape.inputs), elements);
    const ir::ValueId thread = k.position(ir::Op::ThreadIdx, 0);
    const ir::ValueId threads = k.position(ir::Op::BlockDim, 0);
    k.for_up(thread, k.constant_i32(static_cast<std::int32_t>(elements)), threads,
             [&](ir::ValueId i) { k.store(tile, i, k.load(from, i)); });
    return tile;
  };
  const ir::MemoryId a_from = staged(a, "tile_a", shape.m * shape.k);
  const ir::MemoryId b_from = staged(b, "tile_b", shape.k * shape.n);
  if (moves.through_shared) k.statement(ir::Op::Barrier);
  const std::uint32_t left = k.matrix("left", shape.inputs, shape.m, shape.k, MatrixUse::a);
  const std::uint32_t right = k.matrix("right", shape.inputs, shape.k, shape.n, MatrixUse::b);
  const std::uint32_t sum =
      k.matrix("sum", shape.accumulator, shape.m, shape.n, MatrixUse::accumulator);
  k.at("product.cpp", 2);
  k.matrix_access(ir::Op::MatrixLoad, left, a_from, zero, stride(shape.m, shape.k, moves.a),
                  moves.a);
  k.matrix_access(ir::Op::MatrixLoad, right, b_from, zero, stride(shape.k, shape.n, moves.b),
                  moves.b);
  const ir::ValueId lines = stride(shape.m, shape.n, moves.sum);
  k.matrix_access(ir::Op::MatrixLoad, sum, c, zero, lines, moves.sum);
  k.at("product.cpp", 3);
  const ir::ValueId one = k.constant_i32(1);
  k.for_up(zero, k.constant_i32(static_cast<std::int32_t>(moves.rounds)), one,
           [&](ir::ValueId) { k.matrix_multiply_add(sum, left, right, sum); });
  k.at("product.cpp", 4);
  k.matrix_access(ir::Op::MatrixStore, sum, d, zero, lines, moves.sum);
  return k.finish();
}

/// Fills and copies: d = 2 * (a of twos times b of threes) of the shape.
inline ir::Kernel filled_product(const CooperativeMatrixShape& shape) {
  Shapes k("filled");
  k.at("filled.cpp", 1);
  const ir::MemoryId d = k.span_parameter("d", ir::Element::scalar(shape.accumulator), false);
  const std::uint32_t left = k.matrix("left", shape.inputs, shape.m, shape.k, MatrixUse::a);
  const std::uint32_t right = k.matrix("right", shape.inputs, shape.k, shape.n, MatrixUse::b);
  const auto accumulator = [&](const char* name) {
    return k.matrix(name, shape.accumulator, shape.m, shape.n, MatrixUse::accumulator);
  };
  const std::uint32_t once = accumulator("once"), twice = accumulator("twice");
  k.matrix_fill(left, k.constant(ir::Scalar::F32, 0x40000000));
  k.matrix_fill(right, k.constant(ir::Scalar::F32, 0x40400000));
  k.matrix_fill(once, k.constant(ir::Scalar::F32, 0));
  k.matrix_multiply_add(once, left, right, once);
  k.matrix_copy(twice, once);
  k.matrix_multiply_add(twice, left, right, twice);
  k.matrix_access(ir::Op::MatrixStore, twice, d, k.constant_i32(0),
                  k.constant_i32(static_cast<std::int32_t>(shape.n)), MatrixLayout::row_major);
  return k.finish();
}

}  // namespace salvo::test
