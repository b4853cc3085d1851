// What a machine says about a fault: the access, the thread, and who else took part.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {
namespace {

std::string_view access_word(ir::Op op) {
  if (op == ir::Op::Load || op == ir::Op::MatrixLoad) return "read";
  if (op == ir::Op::Store || op == ir::Op::MatrixStore) return "write";
  return ir::name(op);
}

}  // namespace

void Machine::fault(const Instruction& instruction, std::string message) const {
  throw fault_at(launch_.code.kernel(), node_of(instruction), Errc::check_failed, "launch",
                 std::move(message));
}

std::string Machine::element_text(const Instruction& instruction, std::uint32_t lane) const {
  const std::uint64_t slot = row(instruction.operands[0])[lane];
  const std::string index = instruction.operand_type == ir::Scalar::U64
                                ? fmt::to_string(slot)
                                : fmt::to_string(as_signed(slot, instruction.index_is_i32));
  return element_name(launch_.code.kernel(), node_of(instruction), index);
}

void Machine::fault_bounds(const Instruction& instruction, std::uint32_t lane,
                           std::uint64_t length) const {
  const std::uint64_t slot = row(instruction.operands[0])[lane];
  const bool negative =
      instruction.operand_type != ir::Scalar::U64 && as_signed(slot, instruction.index_is_i32) < 0;
  fault(instruction, fmt::format("{} of {} {} its {} elements, by {}", access_word(instruction.op),
                                 element_text(instruction, lane), negative ? "before" : "past",
                                 length, to_string(place_of(lane))));
}

void Machine::fault_unwritten(const Instruction& instruction, std::uint32_t lane,
                              std::uint64_t length) const {
  fault(instruction,
        fmt::format("uninitialised {} of {} (of {} elements), by {}", access_word(instruction.op),
                    element_text(instruction, lane), length, to_string(place_of(lane))));
}

void Machine::fault_race(const Instruction& instruction, std::uint32_t lane, std::uint64_t length,
                         const Conflict& other) const {
  const std::string_view kind = other.kind == AccessKind::Read    ? "read"
                                : other.kind == AccessKind::Write ? "write"
                                                                  : "atomic";
  fault(instruction, fmt::format("race on {} (of {} elements): {} by {} and{} {} by {}",
                                 element_text(instruction, lane), length, kind, other_party(other),
                                 other.same_block ? ", with no barrier between," : "",
                                 access_word(instruction.op), to_string(place_of(lane))));
}

std::string Machine::other_party(const Conflict& other) const {
  if (other.same_block) {
    return other.thread_known ? to_string(place_of(other.thread)) : "other threads of the block";
  }
  if (!other.thread_known || block_starts_.empty()) return "another block";
  const auto after = std::upper_bound(block_starts_.begin(), block_starts_.end(), other.moment);
  const auto linear = static_cast<std::uint64_t>(after - block_starts_.begin()) - 1;
  return to_string(ThreadPlace{thread_at(other.thread), block_at(linear)});
}

void Machine::fault_divergence(const Instruction& instruction, const Active& active,
                               std::uint32_t first, std::uint32_t size,
                               std::string_view group) const {
  const std::uint32_t* begin = active.index;
  const std::uint32_t* end = begin + active.count;
  const std::uint32_t* own = std::lower_bound(begin, end, first);
  const std::uint32_t* own_end = std::lower_bound(own, end, first + size);
  std::uint32_t missing = first;
  for (const std::uint32_t* lane = own; lane != own_end && *lane == missing; ++lane) ++missing;
  fault(instruction, fmt::format("{} reached by {} of the {} threads of its {}, not by {}",
                                 ir::name(instruction.op), own_end - own, size, group,
                                 to_string(place_of(missing))));
}

void Machine::fault_steps(const Instruction& instruction) const {
  const auto block = block_at(block_);
  fault(instruction, fmt::format("more than {} steps in block ({},{},{})", max_steps_, block[0],
                                 block[1], block[2]));
}

}  // namespace salvo::backends::interpreter
