// What code generators share about code of the program's own: intrinsics and native code (K11).
// SPDX-License-Identifier: MIT
#include "codegen/user_code.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::codegen {
namespace {

[[noreturn]] void refuse(const ir::Kernel& kernel, const ir::Node& node, std::string_view target) {
  Error::Details details;
  details.code = Errc::unsupported;
  details.operation = "translate";
  details.kernel = kernel.name;
  details.message =
      fmt::format("'{}' has no code for {}", kernel.user_calls[node.index].code->name(), target);
  if (node.location < kernel.locations.size()) {
    const ir::Location& place = kernel.locations[node.location];
    details.source = {place.file, place.line};
  }
  throw Error(std::move(details));
}

}  // namespace

std::string user_text(const ir::Kernel& kernel, const ir::Node& node, std::string_view target) {
  std::optional<std::string> text = kernel.user_calls[node.index].code->text(target);
  if (!text) refuse(kernel, node, target);
  return *std::move(text);
}

void refuse_user_code(const ir::Kernel& kernel, std::string_view target) {
  const auto found = std::ranges::find_if(
      kernel.nodes, [](const ir::Node& node) { return ir::is_user_code(node.op); });
  if (found != kernel.nodes.end()) refuse(kernel, *found, target);
}

}  // namespace salvo::codegen
