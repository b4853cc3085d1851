// Loads, stores and atomics on spans, shared and local arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// Specialisation constants of every shader: the block's size, and words of dynamic shared memory.
inline constexpr std::uint32_t kBlockX = 0;
inline constexpr std::uint32_t kBlockY = 1;
inline constexpr std::uint32_t kBlockZ = 2;
inline constexpr std::uint32_t kDynamicWords = 3;

class Memories {
 public:
  /// A pointer to an integer of `bits` at a byte offset, an U64, in the span that a node touches;
  /// for a matrix statement, into an array of them.
  using Element = std::function<Id(const ir::Node&, unsigned bits, Id offset)>;

  /// The elements that a cooperative matrix is loaded from or stored to.
  struct Elements {
    Id pointer = 0;  // to the first, an integer as wide as an element
    spv::MemoryAccessMask access = spv::MemoryAccessMaskNone;
    std::uint32_t alignment = 0;
  };

  /// `shared_between_threads`: threads see each other's stores, by barriers or fences.
  /// `dynamic_shared` is what Parameters gives.
  Memories(Module& module, bool shared_between_threads, Id dynamic_shared, Element element);

  Elements matrix(const ir::Node& node, Id offset);
  Id load(const ir::Node& node, Id index);
  void store(const ir::Node& node, Id index, Id value);
  /// `operands`: the value, or expected and desired.
  Id atomic(const ir::Node& node, Id index, std::span<const Id> operands);

 private:
  /// A leaf of an element: a pointer to an integer as wide as the leaf, or as a register for local
  /// arrays; or the first of the words that hold it, in dynamic shared memory.
  struct Leaf {
    Id pointer = 0;
    unsigned bits = 32;
    spv::StorageClass storage = spv::StorageClassFunction;
    std::uint32_t alignment = 0;  // spans
    Id second = 0;                // dynamic shared memory: pointer to the upper half
  };

  Leaf leaf(const ir::Node& node, Id index);
  Leaf span_leaf(const ir::Node& node, Id index);
  Leaf array_leaf(const ir::Node& node, Id index);
  Leaf dynamic_leaf(const ir::Node& node, Id index);
  Id array_of(ir::MemoryId memory, std::uint32_t field);
  Id dynamic_word(Id index);
  Id offset_of(const ir::Node& node, Id index, Scalar as);
  spv::MemoryAccessMask access_of(const Leaf& leaf) const;
  Id read(const Leaf& leaf, Id pointer);
  void write(const Leaf& leaf, Id pointer, Id value);
  void allow_small(const Leaf& leaf);

  Id instruction(const ir::Node& node, const Leaf& at, std::span<const Id> operands);
  Id float_loop(const ir::Node& node, const Leaf& at, Id operand);
  Id first_guess(const Leaf& at, Scalar bits);
  Id exchange(const Leaf& at, Id expected, Id desired);
  void require_word(const ir::Node& node);

  Module& m_;
  bool shared_between_threads_;
  Element element_;
  std::map<std::pair<ir::MemoryId, std::uint32_t>, Id> arrays_;  // by memory and field
  Id dynamic_ = 0;
};

}  // namespace salvo::codegen::spirv
