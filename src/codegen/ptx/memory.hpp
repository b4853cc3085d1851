// PTX for loads, stores and atomics.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ptx/arithmetic.hpp"

namespace salvo::codegen::ptx {

/// An element leaf in memory.
struct Place {
  ir::Scalar type = ir::Scalar::F32;  // as stored
  std::string space;                  // "global", "shared", "local", "param"
  std::string address;                // "%rd3+8"
  bool constant = false;              // nothing writes it while the kernel runs
};

class MemoryAccess {
 public:
  MemoryAccess(Writer& writer, Arithmetic& arithmetic) : to_(writer), arithmetic_(arithmetic) {}

  /// The value, in its compute type.
  std::string load(const Place& place);
  void store(const Place& place, const std::string& value);
  /// The same of two or four leaves, one after the other from `first` on; `types` are as stored.
  std::vector<std::string> load(const Place& first, std::span<const ir::Scalar> types);
  void store(const Place& first, std::span<const ir::Scalar> types,
             std::span<const std::string> values);
  /// `operands`: value, or expected and desired. The old value.
  std::string atomic(ir::Op op, const Place& place, std::span<const std::string> operands);
  /// 32 bits with an f32 value, rounded to F16 or BF16, in both halves.
  std::string pair_of_halves(ir::Scalar type, const std::string& value);

 private:
  /// A register that a load instruction fills.
  std::string loaded(ir::Scalar type);
  /// The value of what it was filled with.
  std::string widened(ir::Scalar type, std::string loaded);
  /// What a store instruction is given for a value.
  std::string narrowed(ir::Scalar type, const std::string& value);
  std::string bf16_bits(const std::string& value);

  Writer& to_;
  Arithmetic& arithmetic_;
};

}  // namespace salvo::codegen::ptx
