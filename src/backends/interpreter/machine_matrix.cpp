// Cooperative matrices: each warp of a block has one of every matrix of the kernel.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/interpreter/convert.hpp"
#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {
namespace {

float rounded(float value, ir::Scalar type) {
  if (type == ir::Scalar::F16) return from_f16(to_f16(value));
  return type == ir::Scalar::BF16 ? from_bf16(to_bf16(value)) : value;
}

}  // namespace

void Machine::prepare_matrices() {
  const std::size_t warps = (threads_ + launch_.options.warp_size - 1) / launch_.options.warp_size;
  matrices_.resize(warps * launch_.code.matrix_elements());
  matrix_set_.resize(warps * launch_.code.kernel().matrices.size());
}

std::span<float> Machine::matrix(std::uint32_t id, std::uint32_t warp) {
  const Code& code = launch_.code;
  return {matrices_.data() + std::size_t{warp} * code.matrix_elements() + code.first_element(id),
          code.kernel().matrices[id].elements()};
}

std::span<const float> Machine::set_matrix(const Instruction& instruction, std::uint32_t id,
                                           std::uint32_t warp) {
  const auto& matrices = launch_.code.kernel().matrices;
  if (matrix_set_[warp * matrices.size() + id] == 0) {
    fault(instruction,
          fmt::format("uninitialised read of matrix {}, by the warp of {}", matrices[id].name,
                      to_string(place_of(warp * launch_.options.warp_size))));
  }
  return matrix(id, warp);
}

void Machine::matrix_statement(const Instruction& instruction, const Active& active) {
  const ir::Node& node = node_of(instruction);
  const std::uint32_t size = launch_.options.warp_size;
  std::uint32_t i = 0;
  while (i < active.count) {
    const std::uint32_t first = active.index[i] / size * size;
    const std::uint32_t last = std::min(first + size, threads_);
    std::uint32_t present = 0;
    while (i < active.count && active.index[i] < last) ++i, ++present;
    if (present != last - first) {
      fault_divergence(instruction, active, first, last - first, "warp");
    }
    if (present != size) {
      fault(instruction,
            fmt::format("the last warp of the block has {} threads instead of {}", present, size));
    }
    for (std::size_t operand = 0; operand < node.operand_count; ++operand) {
      const std::uint64_t* values = row(instruction.operands[operand]) + first;
      if (std::all_of(values, values + size, [&](auto value) { return value == values[0]; })) {
        continue;
      }
      fault(instruction,
            fmt::format("{}: operand {} differs between the threads of a warp, that of "
                        "{}",
                        ir::name(node.op), operand, to_string(place_of(first))));
    }
    run_matrix(instruction, first);
  }
}

void Machine::run_matrix(const Instruction& instruction, std::uint32_t first) {
  const ir::Node& node = node_of(instruction);
  const auto& matrices = launch_.code.kernel().matrices;
  const std::uint32_t warp = first / launch_.options.warp_size;
  switch (node.op) {
    case ir::Op::MatrixFill: {
      const auto value = from_slot<float>(row(instruction.operands[0])[first]);
      std::ranges::fill(matrix(node.index, warp), rounded(value, matrices[node.index].type));
      break;
    }
    case ir::Op::MatrixStore:
      set_matrix(instruction, node.index, warp);
      [[fallthrough]];
    case ir::Op::MatrixLoad:
      access_matrix(instruction, first);
      break;
    case ir::Op::MatrixCopy:
      std::ranges::copy(set_matrix(instruction, node.matrices[0], warp),
                        matrix(node.index, warp).begin());
      break;
    default:
      multiply_add(instruction, warp);
      break;
  }
  matrix_set_[warp * matrices.size() + node.index] = 1;
}

// Products are exact but where bfloat16 leaves the range of f32, and are added in ascending order.
void Machine::multiply_add(const Instruction& instruction, std::uint32_t warp) {
  const ir::Node& node = node_of(instruction);
  const auto a = set_matrix(instruction, node.matrices[0], warp);
  const auto b = set_matrix(instruction, node.matrices[1], warp);
  const auto c = set_matrix(instruction, node.matrices[2], warp);
  const auto result = matrix(node.index, warp);
  const ir::Matrix& shape = launch_.code.kernel().matrices[node.index];
  const std::uint32_t inner = launch_.code.kernel().matrices[node.matrices[0]].columns;
  for (std::uint32_t r = 0; r < shape.rows; ++r) {
    for (std::uint32_t column = 0; column < shape.columns; ++column) {
      const std::uint32_t at = r * shape.columns + column;
      float sum = c[at];
      for (std::uint32_t k = 0; k < inner; ++k) {
        sum = std::fma(a[r * inner + k], b[k * shape.columns + column], sum);
      }
      result[at] = rounded(sum, shape.type);
    }
  }
}

// Elements are dealt out to the warp's threads in turn; the checks of plain accesses see to each.
void Machine::access_matrix(const Instruction& instruction, std::uint32_t first) {
  const ir::Node& node = node_of(instruction);
  const ir::Matrix& shape = launch_.code.kernel().matrices[node.index];
  const std::uint32_t size = launch_.options.warp_size;
  const auto operand = [&](std::size_t which) {
    const bool is_i32 = launch_.code.kernel().node(node.operands[which]).type == ir::Scalar::I32;
    return static_cast<std::uint64_t>(as_signed(row(instruction.operands[which])[first], is_i32));
  };
  const std::uint64_t offset = operand(0), stride = operand(1);
  const auto layout = static_cast<ir::MatrixLayout>(node.axis);
  check_alignment(instruction, first, offset, stride);

  Instruction element = instruction;
  element.operands[0] = launch_.code.rows();  // the spare row
  element.operand_type = ir::Scalar::I64;
  element.index_is_i32 = false;
  const std::span<float> all = matrix(node.index, first / size);
  std::vector<std::uint32_t> lanes(size);
  for (std::uint32_t begin = 0; begin < shape.elements(); begin += size) {
    const std::uint32_t count = std::min(size, shape.elements() - begin);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t r = (begin + i) / shape.columns, c = (begin + i) % shape.columns;
      lanes[i] = first + i;
      spare_[first + i] =
          offset + (layout == ir::MatrixLayout::row_major ? r * stride + c : c * stride + r);
    }
    access_elements(element, {lanes.data(), count}, all.subspan(begin, count));
  }
}

void Machine::check_alignment(const Instruction& instruction, std::uint32_t first,
                              std::uint64_t offset, std::uint64_t stride) {
  const ir::Node& node = node_of(instruction);
  const ir::Kernel& kernel = launch_.code.kernel();
  const std::uint32_t alignment =
      ir::line_alignment(kernel.matrices[node.index], static_cast<ir::MatrixLayout>(node.axis));
  const ir::Memory& memory = kernel.memories[node.memory];
  const std::uint64_t base =
      memory.space == ir::Space::Global ? target_of(instruction, first).offset : 0;
  if ((base + offset * instruction.bytes) % alignment == 0 &&
      stride * instruction.bytes % alignment == 0) {
    return;
  }
  fault(
      instruction,
      fmt::format("{} of {} at offset {} and stride {}: its lines do not start at multiples of {} "
                  "bytes, by the warp of {}",
                  ir::name(node.op), memory.name, static_cast<std::int64_t>(offset),
                  static_cast<std::int64_t>(stride), alignment, to_string(place_of(first))));
}

}  // namespace salvo::backends::interpreter
