// Rewrites math functions into plain arithmetic, for targets whose fma does not round once.
// SPDX-License-Identifier: MIT
#include "passes/expand_math_plain.hpp"

#include <limits>

#include "passes/clone.hpp"
#include "passes/expand_functions.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Half away from zero. What is cut off is exact, and nothing at all from 2^23 or 2^52 on.
Value round_of(Value x) {
  const Value whole = apply(Op::Trunc, x);
  const Value up = absolute(x - whole) >= 0.5;
  const Value away = choose(up, absolute(whole) + 1.0, absolute(whole));
  return apply(Op::Copysign, away, x);
}

/// Long division on the mantissas, as many bits a step as 64 have room for.
class Fmod {
 public:
  Fmod(Value x, Value y)
      : builder_(*x.builder),
        type_(x.type()),
        width_(type_ == Scalar::F32 ? 32 : 64),
        precision_(type_ == Scalar::F32 ? 23 : 52),
        x_(x),
        y_(y) {}

  Value run() {
    const Value ax = size_bits(x_);
    const Value ay = size_bits(y_);
    const Parts dividend = take_apart(ax);
    const Parts divisor = take_apart(ay);
    const std::uint32_t rest = builder_.variable("fmod_rest", Scalar::U64);
    const std::uint32_t left = builder_.variable("fmod_left", Scalar::I64);
    builder_.var_set(rest, (dividend.mantissa % divisor.mantissa).id);
    builder_.var_set(left, (dividend.exponent - divisor.exponent).id);
    shift_down(rest, left, divisor.mantissa);
    const Value result = put_together({get(rest), divisor.exponent});

    const std::uint64_t infinity = infinity_bits();
    const Value smaller = ax < ay;
    const Value undefined =
        apply(Op::Or, apply(Op::Or, ay == 0.0, ax >= bits(infinity)), ay > bits(infinity));
    const Value nan = x_.number(std::numeric_limits<double>::quiet_NaN());
    return choose(undefined, nan, choose(smaller, x_, apply(Op::Copysign, result, x_)));
  }

 private:
  /// A number is mantissa * 2^(exponent - constant), with the mantissa's leading one in place.
  struct Parts {
    Value mantissa;  // U64
    Value exponent;  // I64
  };

  Value bits(std::uint64_t value) const { return x_.constant(Scalar::U64, value); }
  Value get(std::uint32_t variable) { return {&builder_, builder_.var_get(variable)}; }
  std::uint64_t leading() const { return std::uint64_t{1} << precision_; }
  std::uint64_t infinity_bits() const {
    return ((std::uint64_t{1} << (width_ - 1 - precision_)) - 1) << precision_;
  }

  Value size_bits(Value x) const {
    return x.bits().cast(Scalar::U64) & bits((std::uint64_t{1} << (width_ - 1)) - 1);
  }

  /// Bits between a mantissa's leading one and its place.
  Value missing(Value mantissa) const {
    return apply(Op::Clz, mantissa) - static_cast<double>(63 - precision_);
  }

  Parts take_apart(Value size) const {
    const Value exponent = (size >> bits(precision_)).cast(Scalar::I64);
    const Value fraction = size & bits(leading() - 1);
    const Value shift = missing(fraction);
    const Value denormal = exponent == 0.0;
    // A fraction of zero is a zero, whose result is not used.
    const Value mantissa = choose(denormal, fraction << shift, fraction | bits(leading()));
    return {mantissa, choose(denormal, 1.0 - shift.cast(Scalar::I64), exponent)};
  }

  void shift_down(std::uint32_t rest, std::uint32_t left, Value divisor) {
    const ir::BlockId condition = builder_.open();
    const Value more = get(left) > 0.0;
    builder_.close();
    const ir::BlockId body = builder_.open();
    const Value now = get(left);
    const double room = 63 - precision_;
    const Value step = choose(now < room, now, now.number(room));
    builder_.var_set(rest, ((get(rest) << step.cast(Scalar::U64)) % divisor).id);
    builder_.var_set(left, (now - step).id);
    builder_.close();
    ir::Node loop;
    loop.op = Op::While;
    loop.operands[0] = more.id;
    loop.operand_count = 1;
    loop.blocks = {condition, body};
    builder_.append(std::move(loop));
  }

  Value put_together(Parts parts) const {
    const Value shift = missing(parts.mantissa);
    const Value mantissa = parts.mantissa << shift;
    const Value exponent = parts.exponent - shift.cast(Scalar::I64);
    const Value normal =
        (mantissa & bits(leading() - 1)) | (exponent.cast(Scalar::U64) << bits(precision_));
    const Value denormal = mantissa >> (1.0 - exponent).cast(Scalar::U64);
    Value result = choose(exponent > 0.0, normal, denormal);
    result = choose(parts.mantissa == 0.0, bits(0), result);
    return result.cast(type_ == Scalar::F32 ? Scalar::U32 : Scalar::U64).as(type_);
  }

  ir::Builder& builder_;
  const Scalar type_;
  const unsigned width_;
  const unsigned precision_;
  const Value x_;
  const Value y_;
};

}  // namespace

bool expands(const ir::Kernel& kernel, const ir::Node& node) {
  switch (node.op) {
    case Op::Round:
    case Op::Fmod:
      return true;
    case Op::Rsqrt:
    case Op::Cbrt:
    case Op::Sin:
    case Op::Cos:
    case Op::Tan:
    case Op::Asin:
    case Op::Acos:
    case Op::Atan:
    case Op::Atan2:
    case Op::Sinh:
    case Op::Cosh:
    case Op::Tanh:
    case Op::Exp:
    case Op::Exp2:
    case Op::Expm1:
    case Op::Log:
    case Op::Log2:
    case Op::Log10:
    case Op::Log1p:
    case Op::Pow:
    case Op::Hypot:
      return kernel.node(node.operands[0]).type == Scalar::F32;
    default:
      return false;
  }
}

ir::Kernel expand_math_plain(const ir::Kernel& kernel) {
  return copy(kernel, [&](Cloner& cloner, ValueId, const ir::Node& node) -> ValueId {
    if (!expands(kernel, node)) return ir::kNoValue;
    const auto operand = [&](int i) {
      return Value{&cloner.builder(), cloner.value(node.operands[i])};
    };
    if (node.op == Op::Round) return round_of(operand(0)).id;
    if (node.op == Op::Fmod) return Fmod(operand(0), operand(1)).run().id;
    const Value x = operand(0).cast(Scalar::F64);
    const std::optional<Value> result =
        node.operand_count == 2 ? function_in_f64(node.op, x, operand(1).cast(Scalar::F64))
                                : function_in_f64(node.op, x);
    return result ? result->cast(Scalar::F32).id : ir::kNoValue;
  });
}

}  // namespace salvo::passes
