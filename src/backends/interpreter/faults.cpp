// Words for what the interpreter finds wrong, with the place in the kernel and the thread.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/faults.hpp"

#include <fmt/format.h>

namespace salvo::backends::interpreter {

std::string element_name(const ir::Kernel& kernel, const ir::Node& node, const std::string& index) {
  const std::string& field = kernel.field_of(node).name;
  return fmt::format("{}[{}]{}{}", kernel.memories[node.memory].name, index,
                     field.empty() ? "" : ".", field);
}

std::string to_string(const ThreadPlace& place) {
  return fmt::format("thread ({},{},{}) of block ({},{},{})", place.thread[0], place.thread[1],
                     place.thread[2], place.block[0], place.block[1], place.block[2]);
}

std::string short_location(const ir::Kernel& kernel, const ir::Node& node) {
  if (node.location == ir::kNone) return {};
  const ir::Location& location = kernel.locations[node.location];
  const std::size_t slash = location.file.find_last_of("/\\");
  return fmt::format("{}:{}", location.file.substr(slash == std::string::npos ? 0 : slash + 1),
                     location.line);
}

Error fault_at(const ir::Kernel& kernel, const ir::Node& node, Errc code, const std::string& what,
               const std::string& tail) {
  const std::string location = short_location(kernel, node);
  Error::Details details;
  details.code = code;
  details.message = fmt::format("{}{}{}{}", what, location.empty() ? "" : " at ", location, tail);
  details.backend = "Interpreter";
  details.operation = code == Errc::check_failed ? "launch" : "build";
  details.kernel = kernel.name;
  if (node.location != ir::kNone) {
    const ir::Location& place = kernel.locations[node.location];
    details.source = {place.file, place.line};
  }
  return Error(std::move(details));
}

}  // namespace salvo::backends::interpreter
