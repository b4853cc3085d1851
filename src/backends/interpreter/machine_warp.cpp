// Operations between the threads of a warp: shuffles, votes and reductions.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "backends/interpreter/arithmetic.hpp"
#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {
namespace {

/// The lane that a shuffle reads, which need not exist. Up and down past the warp's end give the
/// lane itself.
std::int64_t source_lane(ir::Op op, std::int64_t lane, std::int64_t operand,
                         std::int64_t warp_size) {
  if (op == ir::Op::Shuffle) return operand;
  const bool valid = operand >= 0 && operand < warp_size;
  if (op == ir::Op::ShuffleXor) return valid ? lane ^ operand : operand;
  if (!valid) return lane;
  const std::int64_t source = op == ir::Op::ShuffleUp ? lane - operand : lane + operand;
  return source < 0 || source >= warp_size ? lane : source;
}

}  // namespace

// A warp is `warp_size` consecutive threads, x first; the last of a block may be smaller.
void Machine::warp_operation(const Instruction& instruction, const Active& active) {
  const std::uint32_t warp_size = launch_.options.warp_size;
  std::uint32_t i = 0;
  while (i < active.count) {
    const std::uint32_t first = active.index[i] / warp_size * warp_size;
    const std::uint32_t size = std::min(warp_size, threads_ - first);
    std::uint32_t present = 0;
    while (i < active.count && active.index[i] < first + size) ++i, ++present;
    if (present != size) fault_divergence(instruction, active, first, size, "warp");
    run_warp(instruction, first, size);
  }
}

void Machine::run_warp(const Instruction& instruction, std::uint32_t first, std::uint32_t size) {
  const std::uint64_t* value = row(instruction.operands[0]) + first;
  std::uint64_t* out = row(instruction.out) + first;
  switch (instruction.op) {
    case ir::Op::Any:
    case ir::Op::All: {
      const auto set =
          std::count_if(value, value + size, [](std::uint64_t bit) { return bit != 0; });
      const bool result = instruction.op == ir::Op::Any ? set != 0 : set == size;
      std::fill_n(out, size, to_slot(result));
      break;
    }
    case ir::Op::Ballot: {
      std::uint64_t bits = 0;
      for (std::uint32_t lane = 0; lane < size; ++lane) bits |= (value[lane] & 1) << lane;
      std::fill_n(out, size, bits);
      break;
    }
    case ir::Op::WarpAdd:
    case ir::Op::WarpMin:
    case ir::Op::WarpMax:
      reduce(instruction, first, size);
      break;
    default:
      shuffle(instruction, first, size);
      break;
  }
}

void Machine::shuffle(const Instruction& instruction, std::uint32_t first, std::uint32_t size) {
  const std::uint64_t* value = row(instruction.operands[0]) + first;
  const std::uint64_t* argument = row(instruction.operands[1]) + first;
  std::uint64_t* out = row(instruction.out) + first;
  for (std::uint32_t lane = 0; lane < size; ++lane) {
    const std::int64_t source =
        source_lane(instruction.op, lane, as_signed(argument[lane], instruction.index_is_i32),
                    launch_.options.warp_size);
    if (source < 0 || source >= size) {
      fault(instruction,
            fmt::format("{} from lane {} of a warp with {} active lanes, by {}",
                        ir::name(instruction.op), source, size, to_string(place_of(first + lane))));
    }
    out[lane] = value[source];
  }
}

// Halves are folded onto each other, as an exchange with lane ^ 16, 8, 4, 2, 1 adds them up on a
// device, so that sums of floats have one stated order.
void Machine::reduce(const Instruction& instruction, std::uint32_t first, std::uint32_t size) {
  const std::uint64_t* value = row(instruction.operands[0]) + first;
  std::array<std::uint64_t, kMaxWarpSize> partial{};
  std::copy_n(value, size, partial.begin());
  for (std::uint32_t half = launch_.options.warp_size / 2; half > 0; half /= 2) {
    for (std::uint32_t lane = 0; lane < half && lane + half < size; ++lane) {
      partial[lane] = evaluate(instruction.combine, partial[lane], partial[lane + half]);
    }
  }
  std::fill_n(row(instruction.out) + first, size, partial[0]);
}

}  // namespace salvo::backends::interpreter
