// Loads, stores and atomics, each checked before it happens.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "backends/interpreter/arithmetic.hpp"
#include "backends/interpreter/convert.hpp"
#include "backends/interpreter/machine.hpp"

namespace salvo::backends::interpreter {
namespace {

template <class Word>
Word read_word(const void* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Every flag of a word's bytes set.
template <class Word>
constexpr Word kAllWritten = static_cast<Word>(std::numeric_limits<Word>::max() / 255);

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void Machine::prepare_arrays() {
  const Code& code = launch_.code;
  const std::uint64_t shared = code.shared_bytes() + launch_.shape.dynamic_shared_bytes;
  shared_.resize(shared);
  shared_written_.resize(shared);
  local_.resize(code.local_bytes_per_thread() * threads_);
  local_written_.resize(local_.size());
  MemoryUse use;
  for (ir::MemoryId id = 0; id < code.kernel().memories.size(); ++id) {
    if (code.kernel().memories[id].space == ir::Space::Shared) use |= code.use(id);
  }
  shared_races_.prepare(round_up(shared, 16), use);
}

Machine::Target Machine::target_of(const Instruction& instruction, std::uint32_t lane) {
  const ir::Node& node = node_of(instruction);
  const ir::Memory& memory = launch_.code.kernel().memories[node.memory];
  Target target;
  if (memory.space == ir::Space::Global) {
    const BoundArgument& argument = launch_.arguments[argument_of(instruction, lane)];
    Allocation* const allocation = argument.allocation;
    if (allocation == nullptr) return target;  // an empty span
    target.length = argument.length;
    target.offset = argument.offset;
    target.data = allocation->data();
    target.written = allocation->written();
    target.races = allocation->races().active() ? &allocation->races() : nullptr;
    target.allocation = allocation;
    return target;
  }
  const ArrayLayout& layout = launch_.code.layout(node.memory);
  target.offset = layout.offset;
  target.length =
      layout.dynamic ? launch_.shape.dynamic_shared_bytes / memory.element.size : memory.count;
  if (memory.space == ir::Space::Shared) {
    target.data = shared_.data();
    target.written = shared_written_.data();
    target.races = shared_races_.active() ? &shared_races_ : nullptr;
  } else {
    target.data = local_.data();
    target.written = local_written_.data();
    target.offset += launch_.code.local_bytes_per_thread() * lane;
  }
  return target;
}

template <class Word, AccessKind kKind, class Body>
void Machine::each_access(const Instruction& instruction, Lanes lanes, Body&& body) {
  const ir::Space space = launch_.code.kernel().memories[node_of(instruction).memory].space;
  const bool differs = instruction.has_slot || space == ir::Space::Local;
  const std::uint64_t* indices = row(instruction.operands[0]);
  StripeGuard guard(launch_.stripes);
  Target target;
  if (!differs) target = target_of(instruction, 0);
  // Shared memory is another one in each block: what earlier blocks did to it is void.
  Accessor who = who_;
  if (space == ir::Space::Shared) who.launch_from = who.block_from;
  lanes.each([&](std::uint32_t lane) {
    if (differs) target = target_of(instruction, lane);
    // A negative index is a huge one here, past any length.
    const auto index =
        static_cast<std::uint64_t>(as_signed(indices[lane], instruction.index_is_i32));
    if (index >= target.length) fault_bounds(instruction, lane, target.length);
    const std::uint64_t at = target.offset + index * instruction.stride + instruction.offset;
    if (target.allocation != nullptr) guard.hold(target.allocation, at, sizeof(Word));
    if (kKind != AccessKind::Write && target.written != nullptr &&
        read_word<Word>(target.written + at) != kAllWritten<Word>) {
      fault_unwritten(instruction, lane, target.length);
    }
    if (target.races != nullptr) {
      const Conflict other = target.races->access(kKind, at, sizeof(Word), lane, who);
      if (other) fault_race(instruction, lane, target.length, other);
    }
    body(lane, target.data + at);
    if (kKind != AccessKind::Read && target.written != nullptr) {
      std::memset(target.written + at, 1, sizeof(Word));
    }
  });
}

template <class Word>
void Machine::access_words(const Instruction& instruction, Lanes lanes) {
  std::uint64_t* out = row(instruction.out);
  if (instruction.op == ir::Op::Load) {
    each_access<Word, AccessKind::Read>(
        instruction, lanes,
        [=](std::uint32_t lane, const std::byte* from) { out[lane] = read_word<Word>(from); });
    if (instruction.convert != nullptr) instruction.convert(out, out, out, out, lanes);
  } else if (instruction.op == ir::Op::Store) {
    const std::uint64_t* value = row(instruction.operands[1]);
    if (instruction.convert != nullptr) {
      instruction.convert(value, value, value, spare_, lanes);
      value = spare_;
    }
    each_access<Word, AccessKind::Write>(instruction, lanes,
                                         [=](std::uint32_t lane, std::byte* to) {
                                           const Word word = static_cast<Word>(value[lane]);
                                           std::memcpy(to, &word, sizeof word);
                                         });
  } else {
    each_access<Word, AccessKind::Atomic>(
        instruction, lanes, [&](std::uint32_t lane, std::byte* at) {
          const std::uint64_t old = read_word<Word>(at);
          const Word word = static_cast<Word>(update(instruction, old, lane));
          std::memcpy(at, &word, sizeof word);
          out[lane] = old;
        });
  }
}

void Machine::access_elements(const Instruction& instruction, Lanes lanes,
                              std::span<float> elements) {
  const bool loads = instruction.op == ir::Op::MatrixLoad;
  const std::uint32_t first = lanes.index[0];
  const auto load = [&](auto word, auto widen) {
    using Word = decltype(word);
    each_access<Word, AccessKind::Read>(instruction, lanes,
                                        [&](std::uint32_t lane, const std::byte* from) {
                                          elements[lane - first] = widen(read_word<Word>(from));
                                        });
  };
  const auto store = [&](auto word, auto narrow) {
    using Word = decltype(word);
    each_access<Word, AccessKind::Write>(instruction, lanes,
                                         [&](std::uint32_t lane, std::byte* to) {
                                           const Word bits = narrow(elements[lane - first]);
                                           std::memcpy(to, &bits, sizeof bits);
                                         });
  };
  switch (launch_.code.kernel().matrices[node_of(instruction).index].type) {
    case ir::Scalar::F16:
      return loads ? load(std::uint16_t{}, from_f16) : store(std::uint16_t{}, to_f16);
    case ir::Scalar::BF16:
      return loads ? load(std::uint16_t{}, from_bf16) : store(std::uint16_t{}, to_bf16);
    default:
      return loads
                 ? load(std::uint32_t{}, [](std::uint32_t bits) { return from_slot<float>(bits); })
                 : store(std::uint32_t{},
                         [](float value) { return std::bit_cast<std::uint32_t>(value); });
  }
}

void Machine::access_memory(const Instruction& instruction, Lanes lanes) {
  switch (instruction.bytes) {
    case 1:
      access_words<std::uint8_t>(instruction, lanes);
      break;
    case 2:
      access_words<std::uint16_t>(instruction, lanes);
      break;
    case 4:
      access_words<std::uint32_t>(instruction, lanes);
      break;
    default:
      access_words<std::uint64_t>(instruction, lanes);
      break;
  }
}

std::uint64_t Machine::update(const Instruction& instruction, std::uint64_t old,
                              std::uint32_t lane) const {
  const std::uint64_t value = row(instruction.operands[1])[lane];
  switch (instruction.op) {
    case ir::Op::AtomicExchange:
      return value;
    case ir::Op::AtomicCompareExchange:
      return old == value ? row(instruction.operands[2])[lane] : old;
    default:
      return evaluate(instruction.combine, old, value);
  }
}

}  // namespace salvo::backends::interpreter
