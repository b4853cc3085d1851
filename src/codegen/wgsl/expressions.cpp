// Prints one pure operation of the IR as a WGSL expression.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/expressions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/expressions.hpp"

namespace salvo::codegen::wgsl {
namespace {

using ir::Op;
using ir::Scalar;

class Expression {
 public:
  Expression(const ir::Kernel& kernel, const ir::Node& node, std::vector<std::string> operands,
             Helpers& helpers)
      : kernel_(kernel), node_(node), operands_(std::move(operands)), helpers_(helpers) {}

  std::string text() {
    const Op op = node_.op;
    if (ir::is_comparison(op)) return binary();
    switch (op) {
      case Op::Select:
        return fmt::format("select({}, {}, {})", operands_[2], b(), a());
      case Op::Cast:
        return cast();
      case Op::Bitcast:
        return fmt::format("bitcast<{}>({})", type(), a());
      case Op::Clz:
        return call("countLeadingZeros");
      case Op::Popcount:
        return call("countOneBits");
      case Op::And:
      case Op::Or:
      case Op::Xor:
        return binary();
      case Op::Not:
        return fmt::format("{}{}", node_.type == Scalar::Bool ? "!" : "~", a());
      default:
        break;
    }
    if (ir::is_math(op)) return math();
    return ir::is_float(node_.type) ? floating() : integer();
  }

 private:
  const std::string& a() const { return operands_[0]; }
  const std::string& b() const { return operands_[1]; }
  std::string_view type() const { return type_name(node_.type); }
  Scalar operand_type() const { return kernel_.node(node_.operands[0]).type; }

  std::string binary() const {
    const bool differs = node_.op == Op::Xor && node_.type == Scalar::Bool;
    return fmt::format("{} {} {}", a(), differs ? "!=" : c_family::symbol(node_.op), b());
  }
  std::string call(std::string_view function) const {
    return fmt::format("{}({})", function, fmt::join(operands_, ", "));
  }

  std::string math() {
    switch (node_.op) {
      case Op::IsNan:
      case Op::IsInf:
      case Op::Copysign:
      case Op::Round:
      case Op::Fmod:
      case Op::Pow:
      case Op::Log10:
        return call(helpers_.math(node_.op));
      case Op::Rsqrt:
        return call("inverseSqrt");
      default:
        return call(ir::name(node_.op));
    }
  }

  std::string floating() {
    switch (node_.op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
        return binary();
      case Op::Rem:
        return call(helpers_.math(Op::Fmod));
      case Op::Neg:
        return "-" + a();
      case Op::Min:
        return call(helpers_.minimum());
      case Op::Max:
        return call(helpers_.maximum());
      default:
        return call(ir::name(node_.op));  // Abs, Fma
    }
  }

  /// Integers wrap in WGSL too.
  std::string integer() {
    const bool is_signed = ir::is_signed(node_.type);
    switch (node_.op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
        return binary();
      case Op::Div:
        return safe_divisor() ? binary() : call(helpers_.divide(node_.type));
      case Op::Rem:
        return safe_divisor() ? binary() : call(helpers_.remainder(node_.type));
      case Op::Neg:
        return is_signed ? "-" + a() : "0u - " + a();
      case Op::Abs:
      case Op::Min:
      case Op::Max:
        return call(ir::name(node_.op));
      case Op::Shl:
        return fmt::format("{} << {}", a(), count());
      case Op::ShrLogical:
        if (is_signed) return fmt::format("i32(u32({}) >> {})", a(), count());
        [[fallthrough]];
      default:
        return fmt::format("{} >> {}", a(), count());  // Shr
    }
  }

  std::string count() const {
    const ir::Node& shift = kernel_.node(node_.operands[1]);
    if (shift.op == Op::Constant) return fmt::format("{}u", shift.literal & 31u);
    return fmt::format("(u32({}) & 31u)", b());
  }
  /// A constant that neither is zero nor makes the most negative number overflow.
  bool safe_divisor() const {
    const ir::Node& divisor = kernel_.node(node_.operands[1]);
    if (divisor.op != Op::Constant) return false;
    const auto bits = static_cast<std::uint32_t>(divisor.literal);
    return bits != 0 && !(ir::is_signed(node_.type) && bits == ~0u);
  }

  std::string cast() {
    const Scalar from = operand_type();
    if (ir::is_float(from) && ir::is_integer(node_.type)) {
      return call(helpers_.to_integer(node_.type));
    }
    return fmt::format("{}({})", type(), a());
  }

  const ir::Kernel& kernel_;
  const ir::Node& node_;
  const std::vector<std::string> operands_;
  Helpers& helpers_;
};

}  // namespace

std::string constant(Scalar type, std::uint64_t bits, Helpers& helpers) {
  const auto word = static_cast<std::uint32_t>(bits);
  switch (type) {
    case Scalar::Bool:
      return word != 0 ? "true" : "false";
    case Scalar::U32:
      return fmt::format("{}u", word);
    case Scalar::F32: {
      const auto value = std::bit_cast<float>(word);
      // The shortest digits of the largest number are larger, which WGSL refuses.
      const bool largest = std::fabs(value) == std::numeric_limits<float>::max();
      if ((!std::isnormal(value) && word != 0) || largest) {
        return fmt::format("{}(0x{:08x}u)", helpers.float_of_bits(), word);
      }
      const std::string digits = fmt::format("{}f", value);
      return value < 0 ? fmt::format("({})", digits) : digits;
    }
    default: {  // I32, and I64 where it fits
      const auto value = static_cast<std::int32_t>(word);
      if (value == INT32_MIN) return "(-2147483647i - 1i)";
      return value < 0 ? fmt::format("({}i)", value) : fmt::format("{}i", value);
    }
  }
}

std::string expression(const ir::Kernel& kernel, const ir::Node& node,
                       std::span<const std::string> operands, Helpers& helpers) {
  std::vector<std::string> texts(operands.begin(), operands.end());
  const bool all_constant = std::ranges::all_of(
      node.inputs(), [&](ir::ValueId id) { return kernel.node(id).op == Op::Constant; });
  if (all_constant) {
    texts[0] = fmt::format("{}({})", helpers.runtime(kernel.node(node.operands[0]).type), texts[0]);
  }
  return Expression(kernel, node, std::move(texts), helpers).text();
}

}  // namespace salvo::codegen::wgsl
