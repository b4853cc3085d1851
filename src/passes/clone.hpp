// Copies a body from one kernel into another, replacing leaves on the way.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "ir/builder.hpp"
#include "ir/kernel.hpp"

namespace salvo::passes {

/// Copies `block` of a kernel to the current block of a builder. Ids of parameters, memories and
/// variables are mapped by the tables (kNone: must not occur). `replace` sees each node before it
/// is copied and may emit something else and return its value; kNoValue copies the node as it is.
/// For a statement it replaces, `replace` returns kReplacedStatement.
class Cloner {
 public:
  static constexpr ir::ValueId kReplacedStatement = ir::kNoValue - 1;
  using Replace = std::function<ir::ValueId(Cloner&, ir::ValueId, const ir::Node&)>;

  Cloner(const ir::Kernel& from, ir::Builder& to);

  std::vector<std::uint32_t> parameters;  // from's index -> to's; filled with kNone
  std::vector<ir::MemoryId> memories;
  std::vector<std::uint32_t> variables;  // filled with new variables on first use if kNone
  std::vector<std::uint32_t> matrices;   // the same
  Replace replace;
  /// Slot that every access to a span parameter gets (a value of the builder's kernel); kNoValue
  /// leaves them without one.
  ir::ValueId slot = ir::kNoValue;

  void block(ir::BlockId block);
  ir::ValueId node(ir::ValueId id);
  /// The copy of a value that was cloned already.
  ir::ValueId value(ir::ValueId id) const;
  void bind(ir::ValueId id, ir::ValueId copy) { values_[id] = copy; }
  ir::Builder& builder() noexcept { return to_; }

 private:
  void locate(ir::LocationId location);
  std::uint32_t variable(std::uint32_t id);
  std::uint32_t user_call(std::uint32_t id);
  std::uint32_t matrix(std::uint32_t id);

  const ir::Kernel& from_;
  ir::Builder& to_;
  std::vector<ir::ValueId> values_;
  std::vector<ir::LocationId> locations_;
  std::vector<std::uint32_t> user_calls_;
};

/// The same kernel with nodes, blocks and locations in program order and nothing that no block
/// lists. Passes that edit block lists in place end with it.
ir::Kernel copy(const ir::Kernel& kernel, const Cloner::Replace& replace = nullptr);

}  // namespace salvo::passes
