// Neighbouring loads or stores of a thread that can be one wide access.
// SPDX-License-Identifier: MIT
#include "passes/vector_access.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace salvo::passes {
namespace {

using ir::kNone;
using ir::kNoValue;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

constexpr std::uint32_t kMostBytes = 16;
/// Nodes that an access may be moved past: what is loaded early or stored late takes a register.
constexpr std::size_t kFarthest = 128;

/// Gives values that are computed alike one number, however often a kernel computes them.
class Numbering {
 public:
  explicit Numbering(const ir::Kernel& kernel) : kernel_(kernel), numbers_(kernel.nodes.size()) {}

  std::uint32_t of(ValueId id) {
    if (id == kNoValue) return 0;
    if (numbers_[id] == 0) numbers_[id] = compute(id);
    return numbers_[id];
  }

 private:
  using Key = std::tuple<Op, Scalar, std::uint8_t, std::uint32_t, MemoryId, std::uint64_t,
                         std::array<std::uint32_t, 4>>;

  std::uint32_t compute(ValueId id) {
    const Node& node = kernel_.node(id);
    if (!ir::is_pure(node.op) || node.op == Op::ForIndex) {
      // A counter is that of its loop; anything else may differ each time.
      const ValueId itself = node.op == Op::ForIndex ? node.operands[0] : id;
      return number({node.op, node.type, 0, itself, kNone, 0, {}});
    }
    std::array<std::uint32_t, 4> operands{};
    for (std::size_t i = 0; i < node.operand_count; ++i) operands[i] = of(node.operands[i]);
    return number({node.op, node.type, node.axis, node.index, node.memory, node.literal, operands});
  }
  std::uint32_t number(const Key& key) {
    return known_.emplace(key, static_cast<std::uint32_t>(known_.size()) + 1).first->second;
  }

  const ir::Kernel& kernel_;
  std::vector<std::uint32_t> numbers_;
  std::map<Key, std::uint32_t> known_;
};

/// The largest power of two that an integer is known to be a multiple of, wrapped or not.
std::uint64_t known_factor(const ir::Kernel& kernel, ValueId id, int depth = 8) {
  constexpr std::uint64_t kMost = 1 << 16;
  const Node& node = kernel.node(id);
  if (node.op == Op::Constant) {
    return node.literal == 0 ? kMost : std::min(node.literal & -node.literal, kMost);
  }
  if (depth == 0 || !ir::is_integer(node.type)) return 1;
  const auto factor = [&](std::size_t i) {
    return known_factor(kernel, node.operands[i], depth - 1);
  };
  switch (node.op) {
    case Op::Add:
    case Op::Sub:
      return std::min(factor(0), factor(1));
    case Op::Mul:
      return std::min(factor(0) * factor(1), kMost);
    case Op::And:
      return std::max(factor(0), factor(1));
    case Op::Shl: {
      const Node& count = kernel.node(node.operands[1]);
      return count.op == Op::Constant && count.literal < 16
                 ? std::min(factor(0) << count.literal, kMost)
                 : factor(0);
    }
    case Op::Cast:
      return ir::is_integer(kernel.node(node.operands[0]).type) ? factor(0) : 1;
    case Op::ForIndex: {
      const Node& loop = kernel.node(node.operands[0]);
      return std::min(known_factor(kernel, loop.operands[0], depth - 1),
                      known_factor(kernel, loop.operands[2], depth - 1));
    }
    default:
      return 1;
  }
}

class Finder {
 public:
  Finder(const ir::Kernel& kernel, std::uint64_t may_alias, const VectorWishes& wishes)
      : kernel_(kernel), may_alias_(may_alias), wishes_(wishes), numbering_(kernel) {
    result_.alignments.assign(kernel.parameters.size(), 1);
  }

  VectorAccesses run() {
    for (const ir::Block& block : kernel_.blocks) {
      for (std::size_t i = 0; i < block.nodes.size(); ++i) take(block.nodes[i], i);
      end_stretch();
    }
    return std::move(result_);
  }

 private:
  /// A load or store in a stretch of nodes that all run or none, in order.
  struct Access {
    ValueId node = kNoValue;
    bool stores = false;
    MemoryId memory = kNone;
    std::uint32_t slot = 0;  // a number, as the base is
    std::uint32_t base = 0;
    std::int64_t byte = 0;  // from the element at the base
    std::uint32_t size = 0;
    Scalar type = Scalar::I32;
    std::uint64_t factor = 1;  // the base's bytes are a multiple of it
    std::size_t position = 0;
    std::size_t moved_to = 0;
    bool taken = false;
  };

  void take(ValueId id, std::size_t position) {
    const Node& node = kernel_.node(id);
    if (node.op == Op::Load || node.op == Op::Store) return add(id, node, position);
    const bool plain = ir::is_pure(node.op) || ir::is_warp(node.op) || node.op == Op::VarGet ||
                       node.op == Op::VarSet;
    if (!plain) end_stretch();
  }

  void add(ValueId id, const Node& node, std::size_t position) {
    constexpr std::int64_t kMostAdded = 1 << 20;
    const ir::Memory& memory = kernel_.memories[node.memory];
    const ir::Field& field = kernel_.field_of(node);
    Access access;
    access.node = id;
    access.stores = node.op == Op::Store;
    access.memory = node.memory;
    access.slot = numbering_.of(kernel_.slot_of(node));
    access.size = static_cast<std::uint32_t>(ir::size_of(field.type));
    access.type = field.type;
    access.position = access.moved_to = position;
    // A sum that wrapped would be negative, and no element has such an index.
    ValueId index = node.operands[0];
    std::int64_t added = 0;
    while (kernel_.node(index).op == Op::Add && ir::is_signed(kernel_.node(index).type)) {
      const Node& sum = kernel_.node(index);
      const auto is_small = [&](ValueId operand) {
        const Node& constant = kernel_.node(operand);
        return constant.op == Op::Constant &&
               constant.literal <= static_cast<std::uint64_t>(kMostAdded - added);
      };
      const std::size_t constant = is_small(sum.operands[1]) ? 1 : 0;
      if (!is_small(sum.operands[constant])) break;
      added += static_cast<std::int64_t>(kernel_.node(sum.operands[constant]).literal);
      index = sum.operands[1 - constant];
    }
    const Node& rest = kernel_.node(index);
    if (rest.op == Op::Constant && rest.literal <= static_cast<std::uint64_t>(kMostAdded)) {
      added += static_cast<std::int64_t>(rest.literal);
      access.factor = kMostBytes;
    } else {
      access.base = numbering_.of(index);
      access.factor = known_factor(kernel_, index);
    }
    access.factor *= memory.element.size & -memory.element.size;
    access.byte = added * static_cast<std::int64_t>(memory.element.size) + field.offset;
    stretch_.push_back(access);
  }

  bool is_apart(MemoryId memory) const {
    const std::uint32_t parameter = kernel_.memories[memory].parameter;
    return parameter < 64 && (may_alias_ >> parameter & 1) == 0;
  }

  /// Whether the two may change places.
  bool independent(const Access& a, const Access& b) const {
    if (!a.stores && !b.stores) return true;
    const ir::Memory& one = kernel_.memories[a.memory];
    const ir::Memory& other = kernel_.memories[b.memory];
    if (one.space != other.space) return true;
    if (a.memory == b.memory) {
      return a.slot == b.slot && a.base == b.base &&
             (a.byte + a.size <= b.byte || b.byte + b.size <= a.byte);
    }
    if (one.space == Space::Shared) return one.count > 0 && other.count > 0;
    if (one.space == Space::Local) return true;
    // Of a span that is only read the mark says whether it overlaps a written one; a written one's
    // does not say whether one that is only read overlaps it.
    return (is_apart(a.memory) && (!a.stores || b.stores)) ||
           (is_apart(b.memory) && (!b.stores || a.stores));
  }

  bool may_be_part(const Access& access) const {
    const Space space = kernel_.memories[access.memory].space;
    return !access.taken && ((space == Space::Shared && wishes_.shared) ||
                             (space == Space::Global && wishes_.spans));
  }

  void end_stretch() {
    std::map<std::tuple<bool, MemoryId, std::uint32_t, std::uint32_t>, std::vector<Access*>> alike;
    for (Access& access : stretch_) {
      alike[{access.stores, access.memory, access.slot, access.base}].push_back(&access);
    }
    // Loads first, so that stores are judged by where those went.
    for (auto& [key, accesses] : alike) {
      std::ranges::stable_sort(accesses, {}, &Access::byte);
      for (const std::size_t count : {4U, 2U}) {
        for (std::size_t i = 0; i < accesses.size(); ++i) {
          std::vector<Access*> parts = neighbours(accesses, i, count);
          if (!parts.empty()) join(parts);
        }
      }
    }
    stretch_.clear();
  }

  /// `count` accesses that lie one after the other from `first` on; none if there are not so many.
  std::vector<Access*> neighbours(const std::vector<Access*>& accesses, std::size_t first,
                                  std::size_t count) const {
    const Access& start = *accesses[first];
    const std::uint64_t bytes = count * start.size;
    if (!may_be_part(start) || bytes > kMostBytes || start.factor % bytes != 0 ||
        start.byte % static_cast<std::int64_t>(bytes) != 0) {
      return {};
    }
    std::vector<Access*> parts{accesses[first]};
    for (std::size_t i = first + 1; i < accesses.size() && parts.size() < count; ++i) {
      const Access& next = *accesses[i];
      const std::int64_t expected =
          start.byte + static_cast<std::int64_t>(parts.size() * start.size);
      if (next.byte > expected) break;
      // Narrow values are widened by the access itself, each as its type says.
      if (next.byte == expected && may_be_part(next) && next.size == start.size &&
          (next.type == start.type || (wishes_.mixed && next.size >= 4))) {
        parts.push_back(accesses[i]);
      }
    }
    if (parts.size() < count) parts.clear();
    return parts;
  }

  void join(const std::vector<Access*>& parts) {
    const auto [first, last] = std::ranges::minmax(parts, {}, &Access::position);
    if (last->position - first->position > kFarthest) return;
    const Access& leader = first->stores ? *last : *first;
    for (const Access* part : parts) {
      for (const Access& other : stretch_) {
        if (std::ranges::find(parts, &other) != parts.end()) continue;
        const bool was_before = part->position < other.position;
        const bool is_before = leader.position < other.moved_to;
        if (was_before != is_before && !independent(*part, other)) return;
      }
    }
    VectorAccess access;
    access.leader = leader.node;
    access.leader_offset = leader.byte - parts[0]->byte;
    access.bytes = static_cast<std::uint32_t>(parts.size()) * parts[0]->size;
    result_.part_of.resize(kernel_.nodes.size(), kNone);
    for (Access* part : parts) {
      part->taken = true;
      part->moved_to = leader.position;
      access.nodes.push_back(part->node);
      result_.part_of[part->node] = static_cast<std::uint32_t>(result_.accesses.size());
    }
    const ir::Memory& memory = kernel_.memories[leader.memory];
    if (memory.space == Space::Global) {
      std::uint32_t& alignment = result_.alignments[memory.parameter];
      alignment = std::max(alignment, access.bytes);
    }
    result_.accesses.push_back(std::move(access));
  }

  const ir::Kernel& kernel_;
  const std::uint64_t may_alias_;
  const VectorWishes& wishes_;
  Numbering numbering_;
  std::vector<Access> stretch_;
  VectorAccesses result_;
};

}  // namespace

bool VectorAccesses::rests_on_alignment() const noexcept {
  return std::ranges::any_of(alignments, [](std::uint32_t bytes) { return bytes > 1; });
}

VectorAccesses find_vector_accesses(const ir::Kernel& kernel, std::uint64_t may_alias,
                                    const VectorWishes& wishes) {
  return Finder(kernel, may_alias, wishes).run();
}

}  // namespace salvo::passes
