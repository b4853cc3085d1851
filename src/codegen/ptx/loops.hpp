// Which loops run several rounds at a time in PTX: the assembler unrolls little by itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "ir/kernel.hpp"

namespace salvo::codegen::ptx {

/// Whether four rounds of a For at a time are worth while: then their loads overlap.
bool runs_in_fours(const ir::Kernel& kernel, const ir::Node& loop);

/// How indexes move with the counter of a For that runs several rounds at a time.
class Strides {
 public:
  Strides(const ir::Kernel& kernel, ir::ValueId loop);

  /// Elements by which an access lies further on in the next round, for accesses at the top level
  /// of the body. The address of one round is then that of another and a constant: an index that
  /// overflowed would be negative, and no element has that. None if it is no such number.
  std::optional<std::int64_t> of(const ir::Node& access) const;
  bool is_invariant(ir::ValueId value) const { return !inside_.contains(value); }

 private:
  /// What the value grows by with each round, in the arithmetic of its type.
  std::optional<std::uint64_t> growth(ir::ValueId value) const;

  const ir::Kernel& kernel_;
  ir::ValueId loop_;
  std::optional<std::uint64_t> step_;         // if it is known
  std::unordered_set<ir::ValueId> inside_;    // values made in the body
  std::unordered_set<const ir::Node*> tops_;  // nodes that each round reaches
};

}  // namespace salvo::codegen::ptx
