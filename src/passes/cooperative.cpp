// Which cooperative matrices of a kernel a device does not have (K12).
// SPDX-License-Identifier: MIT
#include "passes/cooperative.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace salvo::passes {
namespace {

bool has(const CooperativeMatrixShape& shape, const ir::Matrix& matrix) {
  switch (matrix.use) {
    case ir::MatrixUse::a:
      return shape.inputs == matrix.type && shape.m == matrix.rows && shape.k == matrix.columns;
    case ir::MatrixUse::b:
      return shape.inputs == matrix.type && shape.k == matrix.rows && shape.n == matrix.columns;
    default:
      return shape.accumulator == matrix.type && shape.m == matrix.rows &&
             shape.n == matrix.columns;
  }
}

}  // namespace

std::vector<std::string> missing_matrices(const ir::Kernel& kernel,
                                          std::span<const CooperativeMatrixShape> shapes) {
  std::vector<std::string> missing;
  const auto add = [&](std::string words) {
    if (std::ranges::find(missing, words) == missing.end()) missing.push_back(std::move(words));
  };
  std::vector<bool> multiplied(kernel.matrices.size(), false);
  for (const ir::Node& node : kernel.nodes) {
    if (node.op != ir::Op::MatrixMultiplyAdd) continue;
    const ir::Matrix& a = kernel.matrices[node.matrices[0]];
    const ir::Matrix& c = kernel.matrices[node.matrices[2]];
    const CooperativeMatrixShape needed{c.rows, c.columns, a.columns, a.type, c.type};
    if (std::ranges::find(shapes, needed) == shapes.end()) {
      add(fmt::format("cooperative matrices {}x{}x{} (m x n x k) of {} with {}", needed.m, needed.n,
                      needed.k, name(needed.inputs), name(needed.accumulator)));
    }
    multiplied[node.index] = true;
    for (const std::uint32_t id : node.matrices) multiplied[id] = true;
  }
  for (std::size_t i = 0; i < kernel.matrices.size(); ++i) {
    const ir::Matrix& matrix = kernel.matrices[i];
    const bool known = std::ranges::any_of(
        shapes, [&](const CooperativeMatrixShape& shape) { return has(shape, matrix); });
    if (multiplied[i] || known) continue;
    add(fmt::format("a cooperative matrix {} {}x{} of {}", name(matrix.use), matrix.rows,
                    matrix.columns, name(matrix.type)));
  }
  return missing;
}

}  // namespace salvo::passes
