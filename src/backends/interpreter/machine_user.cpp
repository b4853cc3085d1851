// Runs the host's body of user code, a thread at a time (K11).
// SPDX-License-Identifier: MIT
#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {

void Machine::call_user_code(const Instruction& instruction, Lanes lanes) {
  const ir::Node& node = node_of(instruction);
  const ir::Kernel& kernel = launch_.code.kernel();
  const ir::UserCall& call = kernel.user_calls[node.index];
  const ir::HostBody& body = launch_.code.host_body(node.index);
  std::vector<ir::HostArgument> arguments(call.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (call.arguments[i] == ir::kNone) continue;
    const BoundArgument& bound =
        launch_
            .arguments[launch_.code.first_argument(kernel.memories[call.arguments[i]].parameter)];
    if (!bound.allocation) continue;  // an empty span
    arguments[i].data = bound.allocation->data() + bound.offset;
    arguments[i].length = bound.length;
  }
  std::uint64_t* out = node.op == ir::Op::Intrinsic ? row(instruction.out) : nullptr;
  lanes.each([&](std::uint32_t lane) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (call.arguments[i] != ir::kNone) continue;
      arguments[i].bits = row(instruction.operands[next++])[lane];
    }
    const std::uint64_t result = body(arguments);
    if (out) out[lane] = result;
  });
}

}  // namespace salvo::backends::interpreter
