// Hashes a kernel over a byte sequence of its own: padding and host byte order do not count.
// SPDX-License-Identifier: MIT
#include "ir/hash.hpp"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>

#include <xxhash.h>

namespace salvo::ir {
namespace {

// Digests name entries of the disk cache: raise this when the sequence below changes its meaning.
constexpr std::uint8_t kSequenceVersion = 1;

class Sequence {
 public:
  template <typename Number>
  void number(Number value) {
    static_assert(std::is_integral_v<Number> || std::is_enum_v<Number>);
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Number); ++i, bits >>= 8) {
      bytes_.push_back(static_cast<char>(bits & 0xff));
    }
  }
  void text(std::string_view value) {
    count(value.size());
    bytes_.append(value);
  }
  void count(std::size_t value) { number(static_cast<std::uint64_t>(value)); }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

void add(Sequence& to, const Parameter& parameter) {
  to.text(parameter.name);
  to.number(parameter.is_span);
  to.number(parameter.memory);
  to.number(parameter.type);
  to.number(parameter.slots);
}

void add(Sequence& to, const Memory& memory) {
  to.text(memory.name);
  to.number(memory.space);
  to.number(memory.count);
  to.number(memory.read_only);
  to.number(memory.parameter);
  const Element& element = memory.element;
  to.text(element.name);
  to.number(element.size);
  to.number(element.align);
  to.count(element.fields.size());
  for (const Field& field : element.fields) {
    to.text(field.name);
    to.number(field.type);
    to.number(field.offset);
  }
}

void add(Sequence& to, const Variable& variable) {
  to.text(variable.name);
  to.number(variable.type);
}

void add(Sequence& to, const Node& node) {
  to.number(node.op);
  to.number(node.type);
  to.number(node.axis);
  to.number(node.operand_count);
  for (ValueId operand : node.inputs()) to.number(operand);
  to.number(node.index);
  to.number(node.memory);
  to.number(node.field);
  to.number(node.literal);
  to.number(node.unroll);
  to.count(node.blocks.size());
  for (BlockId block : node.blocks) to.number(block);
  to.count(node.cases.size());
  for (std::int64_t value : node.cases) to.number(value);
}

void add(Sequence& to, const Matrix& matrix) {
  to.text(matrix.name);
  to.number(matrix.type);
  to.number(matrix.rows);
  to.number(matrix.columns);
  to.number(matrix.use);
}

void add(Sequence& to, const Block& block) {
  to.count(block.nodes.size());
  for (ValueId node : block.nodes) to.number(node);
}

/// By identity: two pieces of code are the same when they are one object.
void add(Sequence& to, const UserCall& call) {
  to.number(call.code->serial());
  to.count(call.arguments.size());
  for (MemoryId memory : call.arguments) to.number(memory);
}

template <typename Item>
void add_all(Sequence& to, const std::vector<Item>& items) {
  to.count(items.size());
  for (const Item& item : items) add(to, item);
}

}  // namespace

std::string Digest::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Digest hash_bytes(const void* data, std::size_t bytes) {
  const XXH128_hash_t digest = XXH3_128bits(data, bytes);
  return {digest.high64, digest.low64};
}

Digest hash(const Kernel& kernel) {
  Sequence sequence;
  sequence.number(kSequenceVersion);
  sequence.text(kernel.name);
  add_all(sequence, kernel.parameters);
  add_all(sequence, kernel.memories);
  add_all(sequence, kernel.variables);
  add_all(sequence, kernel.nodes);
  add_all(sequence, kernel.blocks);
  sequence.number(kernel.body);
  sequence.number(kernel.no_fuse);
  if (!kernel.user_calls.empty()) add_all(sequence, kernel.user_calls);
  if (!kernel.matrices.empty()) {
    add_all(sequence, kernel.matrices);
    for (const Node& node : kernel.nodes) {
      for (std::uint32_t matrix : node.matrices) sequence.number(matrix);
    }
  }
  return hash_bytes(sequence.bytes().data(), sequence.bytes().size());
}

}  // namespace salvo::ir
