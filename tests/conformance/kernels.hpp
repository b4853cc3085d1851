// Kernels and data that several suites build alike.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance/harness.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::conformance {

using Shapes = test::Shapes;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Bit patterns at which operations on a type go wrong: zeros of both signs, the smallest and
/// largest numbers, neighbours of powers of two, denormals, infinities, NaN.
const std::vector<std::uint64_t>& edge_bits(Scalar type);

/// `bits` packed as elements of the type in memory.
Value span_of_bits(Scalar type, const std::vector<std::uint64_t>& bits);

/// All pairs, or triples, of edge values: the operands of the i-th case are columns[k][i].
std::vector<std::vector<std::uint64_t>> combinations(const std::vector<Scalar>& types);

/// A value that a kernel stores for each element, and the name of its span.
struct Output {
  std::string name;
  ValueId value;
};

/// y[i] = f(x[i]...) for every element and output, on one-dimensional blocks of 64 with a bound
/// test. `columns` hold the operands' bits; `body` makes the outputs from the loaded operands.
Case elementwise(
    const std::string& name, const std::vector<Scalar>& inputs,
    const std::vector<std::vector<std::uint64_t>>& columns,
    const std::function<std::vector<Output>(Shapes&, const std::vector<ValueId>&)>& body);

/// Blocks of `block` threads that cover `count` elements.
runtime::LaunchShape over(std::uint32_t count, std::uint32_t block = 64);

/// if (i < n) { body(i) } in a kernel that has begun with its parameters.
void guarded(Shapes& kernel, std::uint32_t count_parameter,
             const std::function<void(ValueId)>& body);

}  // namespace salvo::conformance
