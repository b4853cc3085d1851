// What code generators share about cooperative matrices (K12).
// SPDX-License-Identifier: MIT
#include "codegen/matrices.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::codegen {
namespace {

[[noreturn]] void refuse(const ir::Kernel& kernel, std::string message) {
  Error::Details details;
  details.code = Errc::unsupported;
  details.operation = "translate";
  details.kernel = kernel.name;
  details.message = std::move(message);
  const auto first = std::ranges::find_if(
      kernel.nodes, [](const ir::Node& node) { return ir::is_matrix(node.op); });
  if (first != kernel.nodes.end() && first->location < kernel.locations.size()) {
    const ir::Location& place = kernel.locations[first->location];
    details.source = {place.file, place.line};
  }
  throw Error(std::move(details));
}

}  // namespace

void refuse_matrices(const ir::Kernel& kernel, std::string_view target) {
  const bool uses = std::ranges::any_of(
      kernel.nodes, [](const ir::Node& node) { return ir::is_matrix(node.op); });
  if (uses) refuse(kernel, fmt::format("{} has no cooperative matrices", target));
}

void refuse_matrix(const ir::Kernel& kernel, const ir::Matrix& matrix, std::string_view target) {
  refuse(kernel, fmt::format("{} has no cooperative matrix {} {}x{} of {}", target,
                             name(matrix.use), matrix.rows, matrix.columns, name(matrix.type)));
}

}  // namespace salvo::codegen
