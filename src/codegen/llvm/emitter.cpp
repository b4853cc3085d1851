// Writes a kernel as LLVM IR that runs a range of its blocks on one core, their threads as vectors.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/emitter.hpp"

#include <algorithm>

#include "codegen/llvm/function.hpp"
#include "codegen/matrices.hpp"
#include "codegen/user_code.hpp"
#include "passes/clone.hpp"
#include "passes/expand_math.hpp"
#include "passes/expand_math_plain.hpp"
#include "passes/expand_values.hpp"
#include "passes/lower_returns.hpp"
#include "passes/simplify.hpp"

namespace salvo::codegen::llvm {
namespace {

using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// 1 / sqrt(x) in two rounded operations: both are one instruction for a whole vector, where the
/// expansion in F64 takes two for half of one.
ir::Kernel divide_by_roots(const ir::Kernel& kernel) {
  return passes::copy(kernel, [](passes::Cloner& cloner, ValueId, const Node& node) -> ValueId {
    if (node.op != Op::Rsqrt) return ir::kNoValue;
    const passes::Value x{&cloner.builder(), cloner.value(node.operands[0])};
    return (1.0 / passes::apply(Op::Sqrt, x)).id;
  });
}

bool has(const ir::Kernel& kernel, Op op) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(),
                     [op](const Node& node) { return node.op == op; });
}

}  // namespace

ir::Kernel lower(const ir::Kernel& kernel, const EmitOptions& options) {
  refuse_matrices(kernel, "Native");
  refuse_user_code(kernel, "Native");
  ir::Kernel lowered = has(kernel, Op::Rsqrt) ? divide_by_roots(kernel) : kernel;
  // Functions of F64 need an fma that rounds once: one of the C library, if the processor has none.
  if (!options.fma) lowered = passes::expand_math_plain(lowered);
  lowered = passes::expand_math(lowered);
  if (has(lowered, Op::Barrier)) lowered = passes::lower_returns(lowered);
  return passes::simplify(lowered);
}

Emitted emit(const ir::Kernel& lowered, const EmitOptions& options) {
  return Function(lowered, options).run();
}

double function_ulps(Op function, Scalar type) {
  // A root that is off by half a unit, and a quotient rounded once more.
  if (function == Op::Rsqrt) return 2;
  return passes::math_ulps(function, type);
}

}  // namespace salvo::codegen::llvm
