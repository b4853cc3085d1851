// The block of bytes in which a launch passes a kernel's arguments.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_parameters.hpp"

#include <cstring>

#include "codegen/c_family/printer.hpp"

namespace salvo::backends::cuda_family {

ParameterBlock::ParameterBlock(const ir::Kernel& kernel,
                               std::span<const std::uint32_t> alignments) {
  const std::vector<bool> lengths = codegen::c_family::reads_length(kernel);
  const auto place = [&](std::uint32_t size, std::uint32_t count) {
    const std::uint32_t at = (bytes_ + size - 1) / size * size;
    bytes_ = at + size * count;
    return at;
  };
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const std::uint32_t size =
        parameter.is_span ? 8 : static_cast<std::uint32_t>(ir::size_of(parameter.type));
    const std::uint32_t data = place(size, parameter.slots);
    const std::uint32_t length = lengths[i] ? place(8, parameter.slots) : ir::kNone;
    const std::uint32_t misaligned = i < alignments.size() ? alignments[i] - 1 : 0;
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot) {
      entries_.push_back({data + slot * size, lengths[i] ? length + slot * 8 : ir::kNone,
                          parameter.is_span ? 0 : size, misaligned});
    }
  }
}

ParameterBlock::Filled ParameterBlock::fill(std::span<const runtime::Argument> arguments,
                                            std::byte* block) const noexcept {
  std::uint64_t misaligned = 0;
  const auto store = [block, &misaligned](const Entry& entry, const runtime::Argument& argument) {
    if (entry.scalar_bytes == 4) {  // most are, and a known size is one store
      std::memcpy(block + entry.offset, &argument.bits, 4);
    } else if (entry.scalar_bytes != 0) {
      std::memcpy(block + entry.offset, &argument.bits, entry.scalar_bytes);
    } else {
      const std::uint64_t address = argument.buffer.address + argument.byte_offset;
      std::memcpy(block + entry.offset, &address, sizeof(address));
      misaligned |= address & entry.misaligned;
      if (entry.length_offset != ir::kNone) {
        std::memcpy(block + entry.length_offset, &argument.length, sizeof(argument.length));
      }
    }
  };
  // The bytes stored may be anything, as far as the compiler knows: these are not read again.
  const Entry* next = entries_.data();
  const Entry* const end = next + entries_.size();
  for (const runtime::Argument& argument : arguments) {
    if (argument.repeats > end - next) return Filled::refused;
    if (argument.repeats == 1) {
      store(*next++, argument);
      continue;
    }
    const Entry* const last = next + argument.repeats;
    // Unused slots keep what was there: nothing looks at them.
    if (argument.access != runtime::AccessMode::none) {
      for (const Entry* one = next; one != last; ++one) store(*one, argument);
    }
    next = last;
  }
  if (next != end) return Filled::refused;
  return misaligned == 0 ? Filled::aligned : Filled::unaligned;
}

runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) {
  constexpr std::uint64_t kSpan = 16;  // address, length
  runtime::ParameterCost cost;
  for (const ir::Parameter& parameter : kernel.parameters) {
    // Eight at least where it stands alone: what follows may need the alignment.
    const std::uint64_t size = parameter.is_span ? kSpan : ir::size_of(parameter.type);
    cost.bytes += (size * parameter.slots + 7) / 8 * 8;
  }
  return cost;
}

}  // namespace salvo::backends::cuda_family
