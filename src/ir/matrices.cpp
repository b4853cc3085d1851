// What holds for the cooperative matrices of a kernel as a whole.
// SPDX-License-Identifier: MIT
#include "ir/matrices.hpp"

#include <numeric>
#include <optional>

namespace salvo::ir {

std::vector<MatrixLayout> matrix_layouts(const Kernel& kernel, ValueId* conflict) {
  // Matrices that are copied to one another are one set, named by its representative.
  std::vector<std::uint32_t> parent(kernel.matrices.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto representative = [&](std::uint32_t matrix) {
    while (parent[matrix] != matrix) matrix = parent[matrix] = parent[parent[matrix]];
    return matrix;
  };
  std::vector<std::optional<MatrixLayout>> known(kernel.matrices.size());
  const auto meet = [&](ValueId id, std::optional<MatrixLayout>& to,
                        std::optional<MatrixLayout> from) {
    if (to && from && *to != *from && conflict != nullptr && *conflict == kNoValue) *conflict = id;
    if (!to) to = from;
  };
  for (ValueId id = 0; id < kernel.nodes.size(); ++id) {
    const Node& node = kernel.nodes[id];
    if (!is_matrix(node.op) || kernel.matrices[node.index].use == MatrixUse::accumulator) continue;
    const std::uint32_t to = representative(node.index);
    if (node.op == Op::MatrixLoad) meet(id, known[to], static_cast<MatrixLayout>(node.axis));
    if (node.op != Op::MatrixCopy) continue;
    const std::uint32_t from = representative(node.matrices[0]);
    if (from == to) continue;
    meet(id, known[to], known[from]);
    parent[from] = to;
  }
  std::vector<MatrixLayout> layouts;
  for (std::uint32_t i = 0; i < kernel.matrices.size(); ++i) {
    layouts.push_back(known[representative(i)].value_or(MatrixLayout::row_major));
  }
  return layouts;
}

}  // namespace salvo::ir
