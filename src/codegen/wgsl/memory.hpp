// How a printed kernel's memory is declared, read and written.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/c_family/names.hpp"
#include "codegen/wgsl/helpers.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

/// The element types of a kernel's memories. What is touched by an atomic is atomic for every
/// access, and so belongs to the type; floats are then their bits. Narrow integers have a word of
/// their own: they are only found where the host does not look.
class Elements {
 public:
  Elements(const ir::Kernel& kernel, c_family::Names& names);

  const std::string& type(ir::MemoryId memory) const { return memories_[memory].type; }
  /// ".pos_x"; empty for a scalar.
  const std::string& field(ir::MemoryId memory, std::uint32_t field) const {
    return memories_[memory].fields[field];
  }
  bool is_atomic(ir::MemoryId memory, std::uint32_t field) const {
    return memories_[memory].atomic[field];
  }
  bool uses_f16() const noexcept { return uses_f16_; }
  /// Declarations of the records.
  const std::string& records() const noexcept { return records_; }

 private:
  struct Text {
    std::string type;
    std::vector<std::string> fields;
    std::vector<bool> atomic;
  };
  void declare(const ir::Memory& memory, Text& text, c_family::Names& names);

  std::vector<Text> memories_;
  std::string records_;
  bool uses_f16_ = false;
};

/// An element leaf in memory.
struct Place {
  ir::Scalar type = ir::Scalar::F32;  // as stored
  bool atomic = false;
  ir::Space space = ir::Space::Global;
  std::string lvalue;
};

/// A value of the compute type.
std::string load(const Place& place);
/// A statement without its semicolon.
std::string store(const Place& place, std::string_view value, Helpers& helpers);
/// Statements that leave the old value in `result`.
std::vector<std::string> atomic(ir::Op op, const Place& place,
                                std::span<const std::string> operands, const std::string& result);

}  // namespace salvo::codegen::wgsl
