// Epilogue fusion: whether an element-wise consumer may run at its producer's store, and the kernel
// in which it does.
// SPDX-License-Identifier: MIT
#include "fusion/epilogue.hpp"

#include <algorithm>
#include <utility>

#include "ir/builder.hpp"
#include "passes/access.hpp"
#include "passes/clone.hpp"
#include "passes/lower_returns.hpp"
#include "passes/simplify.hpp"

namespace salvo::fusion {
namespace {

using ir::kNoValue;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using passes::Cloner;

template <class F>
bool any_node(const ir::Kernel& kernel, F&& holds) {
  return std::ranges::any_of(kernel.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.nodes, [&](ValueId id) { return holds(kernel.node(id)); });
  });
}

bool touches_memory(const Node& node) {
  return node.op == Op::Load || node.op == Op::Store || ir::is_atomic(node.op);
}

/// Judges one pair.
class Judge {
 public:
  Judge(EpilogueAnalysis& pair, const std::vector<Aliasing>& aliasing)
      : pair_(pair),
        aliasing_(aliasing),
        producer_(passes::summarize(pair.producer)),
        consumer_(passes::summarize(pair.consumer)) {}

  void run() {
    if (pair_.producer.no_fuse || pair_.consumer.no_fuse) {
      return refuse(Reason::no_fuse, "");
    }
    if (producer_.has_native_code || consumer_.has_native_code) {
      return refuse(Reason::native_code, "");
    }
    if (const auto words = consumer_refusal(pair_.consumer); !words.empty()) {
      return refuse(Reason::not_element_wise, words);
    }
    if (producer_.has_cooperative_matrix) {
      return refuse(Reason::cooperative_matrix, "");
    }
    find_vector();
    if (pair_.refusal != Reason::none) return;
    check_consumer();
    if (pair_.refusal != Reason::none) return;
    find_sites();
    if (pair_.refusal != Reason::none) return;
    check_producer_reads();
  }

 private:
  void refuse(Reason reason, std::string_view words) {
    if (pair_.refusal != Reason::none) return;
    pair_.refusal = reason;
    pair_.words = words;
  }

  Aliasing aliasing_of(std::size_t p, std::size_t c) const {
    return aliasing_[p * consumer_.parameters.size() + c];
  }
  static bool accessed(const passes::ParameterAccess& access) {
    return access.reads || access.writes;
  }

  /// The vector between the two: what the producer writes and the consumer touches. It is one.
  void find_vector() {
    const std::size_t producers = producer_.parameters.size();
    const std::size_t consumers = consumer_.parameters.size();
    stores_.assign(producers, false);
    on_vector_.assign(consumers, false);
    bool read = false;
    for (std::size_t p = 0; p < producers; ++p) {
      if (!producer_.parameters[p].writes) continue;
      for (std::size_t c = 0; c < consumers; ++c) {
        if (aliasing_of(p, c) == Aliasing::disjoint || !accessed(consumer_.parameters[c])) continue;
        if (producer_.parameters[p].atomics) {
          return refuse(Reason::hazard, "the producer updates the vector atomically");
        }
        stores_[p] = on_vector_[c] = true;
        read = read || consumer_.parameters[c].reads;
      }
    }
    if (!read) return refuse(Reason::hazard, "it reads nothing that the producer writes");
    for (std::size_t p = 0; p < producers; ++p) {
      for (std::size_t c = 0; c < consumers; ++c) {
        if (stores_[p] && on_vector_[c] && aliasing_of(p, c) != Aliasing::same) {
          return refuse(Reason::hazard,
                        aliasing_of(p, c) == Aliasing::overlap
                            ? "it sees the vector by another start, element type or stride"
                            : "it touches two outputs of the producer");
        }
      }
    }
  }

  /// Everything on the vector happens at the consumer's own element.
  void check_consumer() {
    const ir::Kernel& kernel = pair_.consumer;
    pair_.consumer_memories.assign(kernel.memories.size(), false);
    for (std::size_t m = 0; m < kernel.memories.size(); ++m) {
      const ir::Memory& memory = kernel.memories[m];
      pair_.consumer_memories[m] =
          memory.space == ir::Space::Global && on_vector_[memory.parameter];
      if (pair_.consumer_memories[m]) {
        pair_.consumer_writes_vector |= consumer_.parameters[memory.parameter].writes;
      }
    }
    const auto written = [&](const Node& node) {
      return consumer_.parameters[kernel.memories[node.memory].parameter].writes;
    };
    if (any_node(kernel, [&](const Node& node) {
          return node.op == Op::Load && (pair_.consumer_memories[node.memory] || written(node)) &&
                 !is_global_id(kernel, node.operands[0]);
        })) {
      refuse(Reason::hazard, "it reads the vector, or its own output, at another element");
    }
  }

  void find_sites() {
    const ir::Kernel& kernel = pair_.producer;
    std::vector<bool> memories(kernel.memories.size(), false);
    for (std::size_t p = 0; p < stores_.size(); ++p) {
      if (!stores_[p]) continue;
      pair_.vector = kernel.parameters[p].memory;
      memories[pair_.vector] = true;
    }
    pair_.producer_sites = find_store_sites(kernel, memories);
    if (!std::ranges::all_of(pair_.producer_sites,
                             [](const StoreSite& s) { return s.exact && s.known_index; })) {
      return refuse(Reason::unproved, "where the producer stores depends on data");
    }
    pair_.consumer_sites =
        find_store_sites(pair_.consumer, std::vector<bool>(pair_.consumer.memories.size(), true));
    pair_.producer_parameters = parameters_read(kernel, pair_.producer_sites);
    pair_.consumer_parameters = parameters_read(pair_.consumer, pair_.consumer_sites);
  }

  /// What the consumer writes, the producer reads only where the same thread is about to store.
  void check_producer_reads() {
    for (std::size_t p = 0; p < producer_.parameters.size(); ++p) {
      for (std::size_t c = 0; c < consumer_.parameters.size(); ++c) {
        if (!consumer_.parameters[c].writes || !producer_.parameters[p].reads) continue;
        if (aliasing_of(p, c) == Aliasing::disjoint) continue;
        if (aliasing_of(p, c) != Aliasing::same || producer_.parameters[p].atomics ||
            !reads_at_store(pair_.producer.parameters[p].memory)) {
          return refuse(Reason::hazard, "it writes what the producer may read at another time");
        }
      }
    }
  }

  bool reads_at_store(MemoryId memory) const {
    if (pair_.producer_sites.size() != 1) return false;
    const ir::Kernel& kernel = pair_.producer;
    const StoreSite& site = pair_.producer_sites.front();
    if (std::ranges::any_of(
            site.path, [](const PathStep& step) { return step.kind == PathStep::Kind::loop; })) {
      return false;
    }
    const ValueId index = kernel.node(site.store).operands[0];
    // A load in the store's own block, before it: who loads, stores.
    return std::ranges::all_of(kernel.blocks, [&](const ir::Block& block) {
      const auto store = std::ranges::find(block.nodes, site.store);
      const bool stores_here = store != block.nodes.end();
      for (auto node = block.nodes.begin(); node != block.nodes.end(); ++node) {
        const Node& one = kernel.node(*node);
        if (!touches_memory(one) || one.op == Op::Store || one.memory != memory) continue;
        if (!stores_here || node > store || one.operands[0] != index) return false;
      }
      return true;
    });
  }

  EpilogueAnalysis& pair_;
  const std::vector<Aliasing>& aliasing_;
  const passes::Summary producer_;
  const passes::Summary consumer_;
  std::vector<bool> stores_;     // by the producer's parameter: it stores the vector
  std::vector<bool> on_vector_;  // by the consumer's parameter
};

class Merger {
 public:
  explicit Merger(const EpilogueAnalysis& pair)
      : pair_(pair),
        to_(pair.producer.name + "+" + pair.consumer.name),
        producer_(pair.producer, to_),
        consumer_parameters_(pair.consumer.parameters.size(), ir::kNone),
        consumer_memories_(pair.consumer.memories.size(), ir::kNone) {}

  ir::Kernel run() {
    declare(pair_.producer, "", producer_.parameters, producer_.memories);
    declare(pair_.consumer, "_c", consumer_parameters_, consumer_memories_);
    range_ = to_.scalar_parameter("range", Scalar::I32);
    producer_.replace = [this](Cloner&, ValueId id, const Node& node) -> ValueId {
      const bool ours = std::ranges::any_of(
          pair_.producer_sites, [&](const StoreSite& site) { return site.store == id; });
      if (!ours) return kNoValue;
      const ValueId index = producer_.value(node.operands[0]);
      const ValueId value = producer_.value(node.operands[1]);
      const MemoryId memory = producer_.memories[node.memory];
      to_.store(memory, index, value);
      place_consumer(memory, index, value);
      return Cloner::kReplacedStatement;
    };
    producer_.block(pair_.producer.body);
    return to_.finish();
  }

 private:
  void declare(const ir::Kernel& kernel, const std::string& suffix,
               std::vector<std::uint32_t>& parameters, std::vector<MemoryId>& memories) {
    for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
      const ir::Parameter& parameter = kernel.parameters[p];
      parameters[p] = static_cast<std::uint32_t>(to_.kernel().parameters.size());
      if (parameter.is_span) {
        const ir::Memory& memory = kernel.memories[parameter.memory];
        memories[parameter.memory] =
            to_.span_parameter(parameter.name + suffix, memory.element, memory.read_only);
      } else {
        to_.scalar_parameter(parameter.name + suffix, parameter.type);
      }
    }
    for (std::size_t m = 0; m < kernel.memories.size(); ++m) {
      const ir::Memory& memory = kernel.memories[m];
      if (memory.space == ir::Space::Shared) {
        memories[m] = to_.shared_array(memory.name + suffix, memory.element, memory.count);
      } else if (memory.space == ir::Space::Local) {
        memories[m] = to_.local_array(memory.name + suffix, memory.element, memory.count);
      }
    }
  }

  /// The consumer's body for the element just stored, behind its launched range and its own guard.
  void place_consumer(MemoryId vector, ValueId index, ValueId value) {
    const ValueId id =
        to_.kernel().node(index).type == Scalar::I32 ? index : to_.cast(Scalar::I32, index);
    const ValueId launched = to_.op(Op::Lt, {id, to_.param(range_)});
    const ir::BlockId then_block = to_.open();
    // Rounding to 16-bit floats is the store's: there the element is loaded again, as it is where
    // the consumer changes it. A thread sees its own stores.
    const Scalar stored = to_.kernel().memories[vector].element.fields[0].type;
    const bool reload =
        pair_.consumer_writes_vector || stored == Scalar::F16 || stored == Scalar::BF16;
    const ValueId forwarded = reload ? kNoValue : as_stored(value, stored);

    Cloner cloner(pair_.consumer, to_);
    cloner.parameters = consumer_parameters_;
    cloner.memories = consumer_memories_;
    cloner.replace = [&](Cloner& self, ValueId, const Node& node) -> ValueId {
      if (node.op == Op::GlobalIdx) return id;
      if (node.memory == ir::kNone || !pair_.consumer_memories[node.memory]) return kNoValue;
      if (node.op == Op::Load) {
        return reload ? to_.load(vector, self.value(node.operands[0])) : forwarded;
      }
      if (node.op != Op::Store) return kNoValue;  // its length stays its own argument's
      to_.store(vector, self.value(node.operands[0]), self.value(node.operands[1]));
      return Cloner::kReplacedStatement;
    };
    cloner.block(pair_.consumer.body);
    to_.close();
    const ir::BlockId else_block = to_.open();
    to_.close();
    to_.if_(launched, then_block, else_block);
  }

  /// The value as a load would give it once it was stored (W45).
  ValueId as_stored(ValueId value, Scalar stored) {
    const auto number = [&](std::uint32_t bits) {
      return to_.constant(to_.kernel().node(value).type, bits);
    };
    switch (stored) {
      case Scalar::U8:
        return to_.op(Op::And, {value, number(0xff)});
      case Scalar::U16:
        return to_.op(Op::And, {value, number(0xffff)});
      case Scalar::I8:
      case Scalar::I16: {
        const std::uint32_t spare = stored == Scalar::I8 ? 24 : 16;
        return to_.op(Op::Shr, {to_.op(Op::Shl, {value, number(spare)}), number(spare)});
      }
      default:
        return value;
    }
  }

  const EpilogueAnalysis& pair_;
  ir::Builder to_;
  Cloner producer_;
  std::vector<std::uint32_t> consumer_parameters_;
  std::vector<MemoryId> consumer_memories_;
  std::uint32_t range_ = 0;
};

}  // namespace

std::string_view consumer_refusal(const ir::Kernel& kernel) {
  const passes::Summary has = passes::summarize(kernel);
  if (has.has_barrier || has.has_fence) return "it has a barrier or fence";
  if (has.has_atomic) return "it has an atomic operation";
  if (has.has_shared || has.has_local_array) return "it has a shared or local array";
  if (has.has_warp_operation) return "it has a warp operation";
  if (has.has_native_code) return "it has native code";
  if (has.has_impure_intrinsic) return "it has an impure intrinsic";
  if (any_node(kernel, [](const Node& node) {
        return (ir::is_position(node.op) && !(node.op == Op::GlobalIdx && node.axis == 0)) ||
               node.op == Op::WarpSize;
      })) {
    return "it reads a position or dimension other than the global thread id";
  }
  if (any_node(kernel, [&](const Node& node) {
        return node.op == Op::Store && !is_global_id(kernel, node.operands[0]);
      })) {
    return "it stores at another element than its own";
  }
  return "";
}

EpilogueAnalysis analyse_epilogue(const ir::Kernel& producer, const ir::Kernel& consumer,
                                  const std::vector<Aliasing>& aliasing) {
  EpilogueAnalysis pair;
  // Simplified, so that equal indexes are one value.
  pair.producer = passes::simplify(passes::lower_returns(producer));
  pair.consumer = passes::simplify(passes::lower_returns(consumer));
  Judge(pair, aliasing).run();
  return pair;
}

ir::Kernel merge_epilogue(const EpilogueAnalysis& pair) {
  return Merger(pair).run();
}

}  // namespace salvo::fusion
