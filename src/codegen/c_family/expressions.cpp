// Prints one pure operation of the IR as a C expression.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/expressions.hpp"

#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace salvo::codegen::c_family {
namespace {

using ir::Op;
using ir::Scalar;

class Expression {
 public:
  Expression(const ir::Kernel& kernel, const ir::Node& node, std::span<const std::string> operands,
             const Dialect& dialect, Helpers& helpers)
      : kernel_(kernel), node_(node), operands_(operands), dialect_(dialect), helpers_(helpers) {}

  std::string text() {
    const Op op = node_.op;
    if (ir::is_comparison(op)) return binary(symbol(op));
    switch (op) {
      case Op::Select:
        return fmt::format("{} ? {} : {}", a(), b(), operands_[2]);
      case Op::Cast:
        return cast();
      case Op::Bitcast:
        return dialect_.bitcast(node_.type, operand_type(), a());
      case Op::Clz:
      case Op::Popcount:
        return fmt::format("({}){}", type(), call(dialect_.function(op, node_.type)));
      case Op::And:
      case Op::Or:
      case Op::Xor:
        return binary(symbol(op));
      case Op::Not:
        return fmt::format("{}{}", node_.type == Scalar::Bool ? "!" : "~", a());
      default:
        break;
    }
    if (ir::is_math(op)) return call(dialect_.function(op, operand_type()));
    return ir::is_float(node_.type) ? floating() : integer();
  }

 private:
  const std::string& a() const { return operands_[0]; }
  const std::string& b() const { return operands_[1]; }
  std::string_view type() const { return dialect_.type(node_.type); }
  Scalar operand_type() const { return kernel_.node(node_.operands[0]).type; }
  int bits() const { return static_cast<int>(ir::size_of(node_.type)) * 8; }

  std::string binary(std::string_view sign) const {
    return fmt::format("{} {} {}", a(), sign, b());
  }
  std::string call(std::string_view function) const {
    return fmt::format("{}({})", function, fmt::join(operands_, ", "));
  }

  std::string floating() {
    const Op op = node_.op;
    switch (op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
        return binary(symbol(op));
      case Op::Rem:
        return call(dialect_.function(Op::Fmod, node_.type));
      case Op::Neg:
        return "-" + a();
      case Op::Min:
        return call(helpers_.minimum(node_.type));
      case Op::Max:
        return call(helpers_.maximum(node_.type));
      default:
        return call(dialect_.function(op, node_.type));  // Abs, Fma
    }
  }

  std::string integer() {
    const Op op = node_.op;
    switch (op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
        return wrapping(symbol(op));
      case Op::Div:
        return safe_divisor() ? binary("/") : call(helpers_.divide(node_.type));
      case Op::Rem:
        return safe_divisor() ? binary("%") : call(helpers_.remainder(node_.type));
      case Op::Neg:
        return is_signed() ? fmt::format("({})(0 - ({}){})", type(), wide(), a()) : "0 - " + a();
      case Op::Abs:
        return is_signed() ? fmt::format("{0} < 0 ? ({1})(0 - ({2}){0}) : {0}", a(), type(), wide())
                           : a();
      case Op::Min:
        return fmt::format("{0} < {1} ? {0} : {1}", a(), b());
      case Op::Max:
        return fmt::format("{0} > {1} ? {0} : {1}", a(), b());
      case Op::Shl:
      case Op::ShrLogical:
        return is_signed()
                   ? fmt::format("({})(({}){} {} {})", type(), wide(), a(), symbol(op), count())
                   : fmt::format("{} {} {}", a(), symbol(op), count());
      default:
        return fmt::format("{} >> {}", a(), count());  // Shr
    }
  }

  bool is_signed() const { return ir::is_signed(node_.type); }
  /// The unsigned type of the same width.
  std::string_view wide() const { return dialect_.type(bits() == 64 ? Scalar::U64 : Scalar::U32); }
  std::string wrapping(std::string_view sign) const {
    if (!is_signed()) return binary(sign);
    return fmt::format("({0})(({1}){2} {3} ({1}){4})", type(), wide(), a(), sign, b());
  }
  std::string count() const {
    const ir::Node& shift = kernel_.node(node_.operands[1]);
    if (shift.op != Op::Constant) return fmt::format("({} & {})", b(), bits() - 1);
    return std::to_string(shift.literal & static_cast<std::uint64_t>(bits() - 1));
  }
  /// A constant that neither is zero nor makes the most negative number overflow.
  bool safe_divisor() const {
    const ir::Node& divisor = kernel_.node(node_.operands[1]);
    if (divisor.op != Op::Constant) return false;
    const std::uint64_t mask = bits() == 64 ? ~std::uint64_t{0} : 0xffffffffu;
    return (divisor.literal & mask) != 0 && !(is_signed() && (divisor.literal & mask) == mask);
  }

  std::string cast() {
    const Scalar from = operand_type();
    const Scalar to = node_.type;
    if (to == Scalar::Bool) return a() + " != 0";
    if (ir::is_float(from) && ir::is_integer(to)) {
      return fmt::format("{0} == {0} ? {1} : 0", a(),
                         dialect_.saturating_cast(to, from, a(), helpers_));
    }
    return fmt::format("({}){}", type(), a());
  }

  const ir::Kernel& kernel_;
  const ir::Node& node_;
  std::span<const std::string> operands_;
  const Dialect& dialect_;
  Helpers& helpers_;
};

}  // namespace

std::string_view symbol(ir::Op op) {
  switch (op) {
    case Op::Add:
      return "+";
    case Op::Sub:
      return "-";
    case Op::Mul:
      return "*";
    case Op::Div:
      return "/";
    case Op::Rem:
      return "%";
    case Op::And:
      return "&";
    case Op::Or:
      return "|";
    case Op::Xor:
      return "^";
    case Op::Shl:
      return "<<";
    case Op::Shr:
    case Op::ShrLogical:
      return ">>";
    case Op::Eq:
      return "==";
    case Op::Ne:
      return "!=";
    case Op::Lt:
      return "<";
    case Op::Le:
      return "<=";
    case Op::Gt:
      return ">";
    case Op::Ge:
      return ">=";
    default:
      return {};
  }
}

std::string expression(const ir::Kernel& kernel, const ir::Node& node,
                       std::span<const std::string> operands, const Dialect& dialect,
                       Helpers& helpers) {
  return Expression(kernel, node, operands, dialect, helpers).text();
}

}  // namespace salvo::codegen::c_family
