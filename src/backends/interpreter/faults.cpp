// Words for what the interpreter finds wrong: names of elements and threads, and the error itself.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/faults.hpp"

#include <fmt/format.h>

#include <utility>

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

Error fault_at(const ir::Kernel& kernel, const ir::Node& node, Errc code, std::string operation,
               std::string message) {
  Error::Details details;
  details.code = code;
  details.message = std::move(message) + ir::in_superstep(kernel, node);
  details.backend = "Interpreter";
  details.operation = std::move(operation);
  details.kernel = kernel.name;
  if (node.location != ir::kNone) {
    const ir::Location& location = kernel.locations[node.location];
    details.source = {location.file, location.line};
  }
  return Error(std::move(details));
}

}  // namespace salvo::backends::interpreter
