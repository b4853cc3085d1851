// Fills the rows of leaves: positions, lengths, scalar parameters and constants.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "backends/interpreter/arithmetic.hpp"
#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {
namespace {

std::uint64_t mask_to(ir::Scalar type, std::uint64_t bits) {
  const std::size_t width = ir::size_of(type) * 8;
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

std::uint32_t Machine::argument_of(const Instruction& instruction, std::uint32_t lane) const {
  const ir::Node& node = node_of(instruction);
  const ir::Kernel& kernel = launch_.code.kernel();
  const std::uint32_t parameter =
      node.op == ir::Op::Param ? node.index : kernel.memories[node.memory].parameter;
  const std::uint32_t first = launch_.code.first_argument(parameter);
  if (!instruction.has_slot) return first;
  const std::uint64_t slot = row(instruction.slot)[lane];
  const std::uint32_t slots = kernel.parameters[parameter].slots;
  if (slot >= slots) {
    throw fault_at(
        kernel, node, Errc::invalid_kernel, "launch",
        fmt::format("slot {} of {} past its {} arguments, by {}", slot,
                    kernel.parameters[parameter].name, slots, to_string(place_of(lane))));
  }
  return first + static_cast<std::uint32_t>(slot);
}

void Machine::fill_argument(const Instruction& instruction, Lanes lanes) {
  std::uint64_t* out = row(instruction.out);
  const bool is_length = instruction.op == ir::Op::Length;
  const ir::Scalar type = is_length
                              ? ir::Scalar::I64
                              : launch_.code.kernel().parameters[node_of(instruction).index].type;
  lanes.each([&](std::uint32_t lane) {
    const BoundArgument& argument = launch_.arguments[argument_of(instruction, lane)];
    out[lane] = is_length ? argument.length : mask_to(type, argument.bits);
  });
  if (instruction.convert != nullptr) instruction.convert(out, out, out, out, lanes);
}

void Machine::fill_leaf(const Instruction& instruction) {
  const ir::Node& node = node_of(instruction);
  const runtime::LaunchShape& shape = launch_.shape;
  const Lanes all{nullptr, threads_};
  std::uint64_t* out = row(instruction.out);
  const auto fill = [&](std::uint64_t value) {
    all.each([=](std::uint32_t lane) { out[lane] = value; });
  };
  switch (node.op) {
    case ir::Op::Constant:
      fill(mask_to(node.type, node.literal));
      break;
    case ir::Op::Param:
    case ir::Op::Length:
      fill_argument(instruction, all);
      break;
    case ir::Op::ThreadIdx:
      all.each([&](std::uint32_t lane) { out[lane] = thread_at(lane)[node.axis]; });
      break;
    case ir::Op::BlockIdx:
      fill(block_at(block_)[node.axis]);
      break;
    case ir::Op::BlockDim:
      fill(shape.block[node.axis]);
      break;
    case ir::Op::GridDim:
      fill(shape.grid[node.axis]);
      break;
    case ir::Op::GlobalIdx: {
      const std::uint32_t first = block_at(block_)[node.axis] * shape.block[node.axis];
      if (node.axis == 0 && shape.block[1] == 1 && shape.block[2] == 1) {
        all.each([=](std::uint32_t lane) { out[lane] = first + lane; });
      } else {
        all.each([&](std::uint32_t lane) { out[lane] = first + thread_at(lane)[node.axis]; });
      }
      break;
    }
    case ir::Op::LaneId:
      all.each([&](std::uint32_t lane) { out[lane] = lane % launch_.options.warp_size; });
      break;
    case ir::Op::WarpSize:
      fill(launch_.options.warp_size);
      break;
    default:
      break;  // no other operation is a leaf
  }
}

ThreadPlace Machine::place_of(std::uint32_t lane) const {
  return {thread_at(lane), block_at(block_)};
}

std::array<std::uint32_t, 3> Machine::thread_at(std::uint32_t lane) const {
  const runtime::Dim3& block = launch_.shape.block;
  return {lane % block[0], lane / block[0] % block[1], lane / block[0] / block[1]};
}

std::array<std::uint32_t, 3> Machine::block_at(std::uint64_t linear) const {
  const runtime::Dim3& grid = launch_.shape.grid;
  const std::uint64_t rows = linear / grid[0];
  return {static_cast<std::uint32_t>(linear % grid[0]), static_cast<std::uint32_t>(rows % grid[1]),
          static_cast<std::uint32_t>(rows / grid[1])};
}

}  // namespace salvo::backends::interpreter
