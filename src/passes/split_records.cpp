// Takes spans of records apart into a span for each leaf (K13).
// SPDX-License-Identifier: MIT
#include "passes/split_records.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/builder.hpp"
#include "passes/clone.hpp"
#include "salvo/error.hpp"

namespace salvo::passes {
namespace {

using ir::kNone;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::ValueId;

class Splitter {
 public:
  Splitter(const ir::Kernel& kernel, const std::vector<bool>& split)
      : from_(kernel),
        to_(kernel.name),
        cloner_(from_, to_),
        columns_(kernel.memories.size()),
        split_(split) {}

  ir::Kernel run() {
    refuse_native_code();
    declare();
    to_.kernel().no_fuse = from_.no_fuse;
    cloner_.replace = [this](Cloner&, ValueId, const Node& node) { return replace(node); };
    cloner_.block(from_.body);
    return to_.finish();
  }

 private:
  bool is_split(MemoryId memory) const {
    const std::uint32_t parameter = from_.memories[memory].parameter;
    return parameter < split_.size() && split_[parameter];
  }

  void refuse_native_code() const {
    for (const ir::UserCall& call : from_.user_calls) {
      if (std::ranges::none_of(call.arguments, [&](MemoryId memory) {
            return memory != kNone && is_split(memory);
          })) {
        continue;
      }
      Error::Details details;
      details.code = Errc::unsupported;
      details.operation = "launch";
      details.kernel = from_.name;
      details.message = "native code that takes a span of records cannot run on a SoaVector";
      throw Error(std::move(details));
    }
  }

  void declare() {
    for (std::uint32_t p = 0; p < from_.parameters.size(); ++p) {
      const ir::Parameter& parameter = from_.parameters[p];
      cloner_.parameters[p] = static_cast<std::uint32_t>(to_.kernel().parameters.size());
      if (!parameter.is_span) {
        to_.scalar_parameter(parameter.name, parameter.type);
        continue;
      }
      const ir::Memory& memory = from_.memories[parameter.memory];
      if (!is_split(parameter.memory)) {
        cloner_.memories[parameter.memory] =
            to_.span_parameter(parameter.name, memory.element, memory.read_only);
        continue;
      }
      for (const ir::Field& field : memory.element.fields) {
        std::string name = parameter.name + "_" + field.name;
        std::ranges::replace(name, '.', '_');
        columns_[parameter.memory].push_back(
            to_.span_parameter(std::move(name), ir::Element::scalar(field.type), memory.read_only));
      }
    }
    for (MemoryId id = 0; id < from_.memories.size(); ++id) {
      const ir::Memory& memory = from_.memories[id];
      if (memory.space == ir::Space::Shared) {
        cloner_.memories[id] = to_.shared_array(memory.name, memory.element, memory.count);
      } else if (memory.space == ir::Space::Local) {
        cloner_.memories[id] = to_.local_array(memory.name, memory.element, memory.count);
      }
    }
  }

  ValueId replace(const Node& node) {
    if (node.memory == kNone || columns_[node.memory].empty()) return ir::kNoValue;
    Node copy = node;
    copy.location = kNone;  // the builder's
    copy.memory = columns_[node.memory][node.op == Op::Length ? 0 : node.field];
    copy.field = 0;
    for (ValueId& operand : copy.inputs()) operand = cloner_.value(operand);
    const ValueId made = to_.append(std::move(copy));
    return ir::is_statement(node.op) ? Cloner::kReplacedStatement : made;
  }

  const ir::Kernel& from_;
  ir::Builder to_;
  Cloner cloner_;
  std::vector<std::vector<MemoryId>> columns_;  // by memory; empty if it stays whole
  const std::vector<bool>& split_;
};

}  // namespace

ir::Kernel split_records(const ir::Kernel& kernel, const std::vector<bool>& split) {
  return Splitter(kernel, split).run();
}

}  // namespace salvo::passes
