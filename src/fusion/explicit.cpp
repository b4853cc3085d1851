// Explicit fusion: whether a vector between two kernels can be left out, and the kernel without it.
// SPDX-License-Identifier: MIT
#include "fusion/explicit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fusion/store_sites.hpp"
#include "ir/builder.hpp"
#include "passes/access.hpp"
#include "passes/clone.hpp"
#include "passes/lower_returns.hpp"
#include "passes/simplify.hpp"

namespace salvo::fusion {
namespace {

using ir::kNone;
using ir::kNoValue;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using passes::Cloner;

/// Calls `visit(id, node)` for every node, in program order; blocks of a node before the node
/// itself where they compute its operand.
template <class F>
void visit_nodes(const ir::Kernel& kernel, ir::BlockId block, F&& visit) {
  for (ValueId id : kernel.block(block).nodes) {
    visit(id, kernel.node(id));
    for (ir::BlockId inner : kernel.node(id).blocks) visit_nodes(kernel, inner, visit);
  }
}

/// The first node, in program order, for which `holds`; none gives null.
template <class F>
const Node* find_node(const ir::Kernel& kernel, F&& holds) {
  const Node* found = nullptr;
  visit_nodes(kernel, kernel.body, [&](ValueId, const Node& node) {
    if (!found && holds(node)) found = &node;
  });
  return found;
}

MemoryId memory_of(const FusedPart& part) {
  return part.kernel.parameters[part.intermediate].memory;
}

bool accesses(const Node& node) {
  return ir::reads_memory(node.op) || ir::writes_memory(node.op);
}

class Obstacles {
 public:
  Obstacles(const FusedPart& producer, const FusedPart& consumer)
      : producer_(producer), consumer_(consumer) {}

  std::optional<FuseObstacle> find() {
    check_producer_body();
    if (!found_) check_producer_stores();
    if (!found_) check_consumer();
    return std::move(found_);
  }

 private:
  void refuse(const ir::Kernel& kernel, const Node* node, std::string_view words) {
    if (found_) return;
    found_ = {fmt::format("{} {}", kernel.name, words), node ? node->location : kNone, &kernel};
  }

  /// Refuses where a node is that `holds`.
  template <class F>
  void forbid(const ir::Kernel& kernel, std::string_view words, F&& holds) {
    if (found_) return;
    if (const Node* node = find_node(kernel, holds)) refuse(kernel, node, words);
  }

  /// It can be run anywhere, for any element, any number of times.
  void check_producer_body() {
    const ir::Kernel& kernel = producer_.kernel;
    if (kernel.no_fuse) return refuse(kernel, nullptr, "is marked no_fuse");
    forbid(kernel, "has an atomic operation", [](const Node& n) { return ir::is_atomic(n.op); });
    forbid(kernel, "has a barrier or fence",
           [](const Node& n) { return n.op == Op::Barrier || n.op == Op::Fence; });
    forbid(kernel, "has a warp operation",
           [](const Node& n) { return ir::is_warp(n.op) || ir::is_matrix(n.op); });
    if (std::ranges::any_of(kernel.memories,
                            [](const auto& m) { return m.space != ir::Space::Global; })) {
      return refuse(kernel, nullptr, "has a shared or local array");
    }
    forbid(kernel, "reads a position or dimension other than its global thread id",
           [](const Node& n) {
             return n.op == Op::WarpSize ||
                    (ir::is_position(n.op) && !(n.op == Op::GlobalIdx && n.axis == 0));
           });
  }

  void check_producer_stores() {
    const ir::Kernel& kernel = producer_.kernel;
    const MemoryId vector = memory_of(producer_);
    forbid(kernel, "stores to another vector too",
           [&](const Node& n) { return n.op == Op::Store && n.memory != vector; });
    forbid(kernel, "reads the intermediate, which would have no earlier content",
           [&](const Node& n) { return n.op == Op::Load && n.memory == vector; });
    forbid(kernel, "asks for the length of the intermediate",
           [&](const Node& n) { return n.op == Op::Length && n.memory == vector; });
    forbid(kernel, "stores at another element than that of its thread", [&](const Node& n) {
      return n.op == Op::Store && !is_global_id(kernel, n.operands[0]);
    });
    if (found_) return;
    const ir::Kernel lowered = passes::simplify(passes::lower_returns(kernel));
    std::vector<bool> memories(lowered.memories.size(), false);
    memories[vector] = true;
    const std::vector<StoreSite> sites = find_store_sites(lowered, memories);
    if (sites.empty()) return refuse(kernel, nullptr, "does not store to the intermediate");
    if (!std::ranges::all_of(sites, &StoreSite::exact)) {
      forbid(kernel, "stores to the intermediate or not as its data say",
             [&](const Node& n) { return n.op == Op::Store; });
    }
  }

  void check_consumer() {
    const ir::Kernel& kernel = consumer_.kernel;
    const MemoryId vector = memory_of(consumer_);
    forbid(kernel, "stores to the intermediate",
           [&](const Node& n) { return ir::writes_memory(n.op) && n.memory == vector; });
    forbid(kernel, "reads the intermediate into a cooperative matrix",
           [&](const Node& n) { return n.op == Op::MatrixLoad && n.memory == vector; });
    forbid(kernel, "asks for the length of the intermediate",
           [&](const Node& n) { return n.op == Op::Length && n.memory == vector; });
    if (!find_node(kernel, [&](const Node& n) { return n.op == Op::Load && n.memory == vector; })) {
      refuse(kernel, nullptr, "does not read the intermediate");
    }
  }

  const FusedPart& producer_;
  const FusedPart& consumer_;
  std::optional<FuseObstacle> found_;
};

/// Where the parameters of the two lie in the fused kernel.
struct Placement {
  std::vector<std::uint32_t> producer, consumer;  // kNone: the intermediate
};

/// Calls `place(part, p)` for each parameter of the fused kernel, in order.
template <class F>
void each_parameter(const FusedPart& producer, const FusedPart& consumer, F&& place) {
  const auto range = [&](const FusedPart& part, std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      if (p != part.intermediate) place(part, p);
    }
  };
  const auto own = [](const FusedPart& part) { return part.kernel.parameters.size() - part.live; };
  range(producer, 0, own(producer));
  range(consumer, 0, own(consumer));
  range(producer, own(producer), producer.kernel.parameters.size());
  range(consumer, own(consumer), consumer.kernel.parameters.size());
}

Placement place_parameters(const FusedPart& producer, const FusedPart& consumer) {
  Placement placed{std::vector<std::uint32_t>(producer.kernel.parameters.size(), kNone),
                   std::vector<std::uint32_t>(consumer.kernel.parameters.size(), kNone)};
  std::uint32_t next = 0;
  each_parameter(producer, consumer, [&](const FusedPart& part, std::size_t p) {
    (&part == &producer ? placed.producer : placed.consumer)[p] = next++;
  });
  return placed;
}

/// By node of the consumer: for a load of the intermediate, the first load of the same element that
/// dominates it, which may be itself.
std::vector<ValueId> first_loads(const ir::Kernel& kernel, MemoryId vector) {
  std::vector<ValueId> first(kernel.nodes.size(), kNoValue);
  std::map<ValueId, ValueId> known;  // by index
  const auto walk = [&](const auto& self, ir::BlockId block) -> void {
    std::vector<ValueId> here;
    for (ValueId id : kernel.block(block).nodes) {
      const Node& node = kernel.node(id);
      if (node.op == Op::Load && node.memory == vector) {
        const auto [entry, is_new] = known.try_emplace(node.operands[0], id);
        if (is_new) here.push_back(node.operands[0]);
        first[id] = entry->second;
      }
      for (ir::BlockId inner : node.blocks) self(self, inner);
    }
    for (ValueId index : here) known.erase(index);
  };
  walk(walk, kernel.body);
  return first;
}

class Fuser {
 public:
  Fuser(const FusedPart& producer, const FusedPart& consumer)
      : placed_(place_parameters(producer, consumer)),
        producer_(passes::simplify(passes::lower_returns(producer.kernel))),
        consumer_(passes::simplify(consumer.kernel)),
        stored_(memory_of(producer)),
        read_(memory_of(consumer)),
        first_(first_loads(consumer_, read_)),
        to_(producer.kernel.name + ">" + consumer.kernel.name),
        producer_memories_(producer_.memories.size(), kNone),
        copy_(consumer_, to_) {
    to_.kernel().no_fuse = consumer_.no_fuse;
    each_parameter(producer, consumer, [&](const FusedPart& part, std::size_t p) {
      const bool first = &part == &producer;
      declare(first ? producer_ : consumer_, p, first ? "" : "_c",
              first ? producer_memories_ : copy_.memories);
    });
    declare_arrays();
  }

  ir::Kernel run() {
    copy_.parameters = placed_.consumer;
    copy_.replace = [this](Cloner& self, ValueId id, const Node& node) -> ValueId {
      if (node.op != Op::Load || node.memory != read_) return kNoValue;
      const ValueId first = first_[id];
      if (first == id) elements_[id] = compute(self.value(node.operands[0]));
      const Element& element = elements_.at(first);
      return element.variable != kNone ? to_.var_get(element.variable)
                                       : to_.load(element.array, to_.constant_i32(0), node.field);
    };
    copy_.block(consumer_.body);
    return to_.finish();
  }

 private:
  /// Where an element of the intermediate lies instead: in a variable, or where it must be rounded
  /// or is a record, in an array of one.
  struct Element {
    std::uint32_t variable = kNone;
    MemoryId array = kNone;
  };

  void declare(const ir::Kernel& from, std::size_t p, const char* suffix,
               std::vector<MemoryId>& memories) {
    const ir::Parameter& parameter = from.parameters[p];
    if (parameter.is_span) {
      const ir::Memory& memory = from.memories[parameter.memory];
      memories[parameter.memory] =
          to_.span_parameter(parameter.name + suffix, memory.element, memory.read_only);
    } else {
      to_.scalar_parameter(parameter.name + suffix, parameter.type);
    }
  }

  void declare_arrays() {
    for (std::size_t m = 0; m < consumer_.memories.size(); ++m) {
      const ir::Memory& memory = consumer_.memories[m];
      if (memory.space == ir::Space::Shared) {
        copy_.memories[m] = to_.shared_array(memory.name + "_c", memory.element, memory.count);
      } else if (memory.space == ir::Space::Local) {
        copy_.memories[m] = to_.local_array(memory.name + "_c", memory.element, memory.count);
      }
    }
  }

  Element make_element() {
    const ir::Element& stored = producer_.memories[stored_].element;
    const std::string name = fmt::format("between{}", elements_.size());
    Element element;
    if (stored.is_scalar() && ir::compute_type(stored.fields[0].type) == stored.fields[0].type) {
      element.variable = to_.variable(name, stored.fields[0].type);
      to_.var_set(element.variable, to_.constant(stored.fields[0].type, 0));
      return element;
    }
    element.array = to_.local_array(name, stored, 1);
    for (std::uint32_t field = 0; field < stored.fields.size(); ++field) {
      to_.store(element.array, to_.constant_i32(0),
                to_.constant(ir::compute_type(stored.fields[field].type), 0), field);
    }
    return element;
  }

  /// What the producer's thread `index` stores.
  Element compute(ValueId index) {
    const Element element = make_element();
    const ValueId id =
        to_.kernel().node(index).type == Scalar::I32 ? index : to_.cast(Scalar::I32, index);
    Cloner body(producer_, to_);
    body.parameters = placed_.producer;
    body.memories = producer_memories_;
    body.replace = [&](Cloner& self, ValueId, const Node& node) -> ValueId {
      if (node.op == Op::GlobalIdx) return id;
      if (node.op != Op::Store) return kNoValue;
      const ValueId value = self.value(node.operands[1]);
      if (element.variable != kNone) {
        to_.var_set(element.variable, value);
      } else {
        to_.store(element.array, to_.constant_i32(0), value, node.field);
      }
      return Cloner::kReplacedStatement;
    };
    body.block(producer_.body);
    return element;
  }

  const Placement placed_;
  const ir::Kernel producer_, consumer_;
  const MemoryId stored_, read_;
  const std::vector<ValueId> first_;  // by node of the consumer
  ir::Builder to_;
  std::vector<MemoryId> producer_memories_;
  Cloner copy_;  // of the consumer
  std::map<ValueId, Element> elements_;
};

/// Whether every access of `kernel` to `memory` is a plain one at the thread's own element.
bool at_own_element(const ir::Kernel& kernel, MemoryId memory) {
  return !find_node(kernel, [&](const Node& n) {
    return accesses(n) && n.memory == memory &&
           (ir::is_atomic(n.op) || ir::is_matrix(n.op) || !is_global_id(kernel, n.operands[0]));
  });
}

/// Whether a thread has read the intermediate for the last time when it first stores to `written`.
bool reads_come_first(const ir::Kernel& kernel, MemoryId read, MemoryId written) {
  bool stored = false, ordered = true;
  visit_nodes(kernel, kernel.body, [&](ValueId, const Node& node) {
    // In a loop, or where a loop might be, program order is not the order of time.
    if (node.op == Op::For || node.op == Op::While) ordered = false;
    stored = stored || (node.op == Op::Store && node.memory == written);
    if (node.op == Op::Load && node.memory == read && stored) ordered = false;
  });
  return ordered;
}

}  // namespace

std::optional<FuseObstacle> find_obstacle(const FusedPart& producer, const FusedPart& consumer) {
  return Obstacles(producer, consumer).find();
}

ir::Kernel fuse_through(const FusedPart& producer, const FusedPart& consumer) {
  return Fuser(producer, consumer).run();
}

std::vector<DisjointSpans> spans_kept_apart(const FusedPart& producer, const FusedPart& consumer) {
  const passes::Summary reads = passes::summarize(producer.kernel);
  const passes::Summary writes = passes::summarize(consumer.kernel);
  const Placement placed = place_parameters(producer, consumer);
  const bool own_element = at_own_element(consumer.kernel, memory_of(consumer));
  std::vector<DisjointSpans> all;
  for (std::size_t p = 0; p < placed.producer.size(); ++p) {
    if (placed.producer[p] == kNone || !reads.parameters[p].reads) continue;
    const MemoryId read = producer.kernel.parameters[p].memory;
    for (std::size_t c = 0; c < placed.consumer.size(); ++c) {
      if (placed.consumer[c] == kNone || !writes.parameters[c].writes) continue;
      const MemoryId written = consumer.kernel.parameters[c].memory;
      DisjointSpans pair{placed.producer[p], placed.consumer[c]};
      pair.in_place = own_element && at_own_element(producer.kernel, read) &&
                      at_own_element(consumer.kernel, written) &&
                      producer.kernel.memories[read].element.size ==
                          consumer.kernel.memories[written].element.size &&
                      reads_come_first(consumer.kernel, memory_of(consumer), written);
      all.push_back(pair);
    }
  }
  return all;
}

}  // namespace salvo::fusion
