// What of the kernel language WGSL can say.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/subset.hpp"

#include <string_view>

#include <fmt/format.h>

#include "passes/access.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::wgsl {
namespace {

using ir::Op;
using ir::Scalar;

bool is_wide(Scalar type) {
  return type == Scalar::I64 || type == Scalar::U64;
}

class Checker {
 public:
  explicit Checker(const ir::Kernel& kernel) : kernel_(kernel) {}

  void run() const {
    const passes::Summary needs = passes::summarize(kernel_);
    refuse(needs.needs_fp64, "f64", "its floats have 32 bits at the most");
    refuse(needs.has_cooperative_matrix, "cooperative matrices",
           "they are an extension that is still an experiment");
    refuse(needs.has_warp_operation, "warp operations",
           "the size of a subgroup is not fixed, nor which threads are in one");
    refuse(needs.has_fence, "memory fence",
           "memory is ordered by barriers only, which all threads of a block reach");
    for (const ir::Memory& memory : kernel_.memories) check(memory);
    for (const ir::Parameter& parameter : kernel_.parameters) {
      refuse(!parameter.is_span && is_wide(parameter.type), ir::name(parameter.type), kNoWide);
    }
    for (const ir::Variable& variable : kernel_.variables) {
      refuse(is_wide(variable.type), ir::name(variable.type), kNoWide);
    }
    for (const ir::Block& block : kernel_.blocks) {
      for (const ir::ValueId id : block.nodes) check(kernel_.node(id));
    }
  }

 private:
  static constexpr std::string_view kNoWide = "its integers have 32 bits";

  void refuse(bool needed, std::string_view what, std::string_view reason) const {
    if (!needed) return;
    throw Error(Error::Details{.code = Errc::unsupported,
                               .message = fmt::format("WGSL has no {}: {}", what, reason),
                               .backend = "WebGPU",
                               .operation = "translate",
                               .kernel = kernel_.name});
  }

  void check(const ir::Memory& memory) const {
    for (const ir::Field& field : memory.element.fields) {
      refuse(is_wide(field.type), ir::name(field.type), kNoWide);
      if (memory.space != ir::Space::Global) continue;
      const bool narrow = ir::size_of(field.type) < 4 && field.type != Scalar::F16;
      refuse(narrow, fmt::format("{} in a vector", ir::name(field.type)),
             "what threads write side by side must be words of 32 bits, or f16");
    }
  }

  /// Lengths and what they are compared with: they fit 32 bits.
  bool fits(ir::ValueId id) const {
    const ir::Node& node = kernel_.node(id);
    if (node.op == Op::Length) return true;
    if (node.op == Op::Constant) {
      const auto value = static_cast<std::int64_t>(node.literal);
      return value >= INT32_MIN && value <= INT32_MAX;
    }
    return node.op == Op::Cast && kernel_.node(node.operands[0]).type == Scalar::I32;
  }

  void check(const ir::Node& node) const {
    const bool narrows = ir::is_comparison(node.op) || node.op == Op::Cast;
    for (const ir::ValueId operand : node.inputs()) {
      if (!is_wide(kernel_.node(operand).type)) continue;
      const bool indexes =
          kernel_.node(operand).type == Scalar::I64 &&
          (node.op == Op::Load || node.op == Op::Store || ir::is_atomic(node.op)) &&
          operand == node.operands[0];
      const bool allowed = kernel_.node(operand).type == Scalar::I64 && fits(operand) &&
                           (indexes || (narrows && node.type != Scalar::U32));
      refuse(!allowed, ir::name(kernel_.node(operand).type), kNoWide);
    }
    const bool widens = node.op == Op::Cast && node.type == Scalar::I64 &&
                        kernel_.node(node.operands[0]).type == Scalar::I32;
    refuse(is_wide(node.type) && !ir::is_leaf(node.op) && !ir::is_statement(node.op) && !widens,
           ir::name(node.type), kNoWide);
  }

  const ir::Kernel& kernel_;
};

}  // namespace

void require_subset(const ir::Kernel& kernel) {
  Checker(kernel).run();
}

}  // namespace salvo::codegen::wgsl
