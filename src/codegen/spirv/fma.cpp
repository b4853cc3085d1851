// Multiply-adds that round once, for devices whose own instruction may round twice.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/fma.hpp"

namespace salvo::codegen::spirv {
namespace {

/// F64 arithmetic, an instruction an operation; none is contracted.
class Wide {
 public:
  explicit Wide(Module& module) : m_(module) {}

  Id add(Id a, Id b) { return m_.emit(spv::OpFAdd, Scalar::F64, {a, b}); }
  Id sub(Id a, Id b) { return m_.emit(spv::OpFSub, Scalar::F64, {a, b}); }
  Id mul(Id a, Id b) { return m_.emit(spv::OpFMul, Scalar::F64, {a, b}); }

  /// What `sum`, of a and b, lost (Knuth). A NaN if the sum is infinite or a NaN.
  Id error_of_sum(Id sum, Id a, Id b) {
    const Id part = sub(sum, a);
    return add(sub(a, sub(sum, part)), sub(b, part));
  }

  /// What `product`, of a and b, lost (Dekker).
  Id error_of_product(Id product, Id a, Id b) {
    const auto [high_a, low_a] = split(a);
    const auto [high_b, low_b] = split(b);
    const Id first = sub(mul(high_a, high_b), product);
    const Id second = add(add(first, mul(high_a, low_b)), mul(low_a, high_b));
    return add(second, mul(low_a, low_b));
  }

  /// `sum` and its error as one number: the neighbour with an odd last bit unless the error is
  /// zero. Rounding that again, to fewer digits, gives what one rounding would. Infinite or NaN
  /// sums stay.
  Id to_odd(Id sum, Id error) {
    const Id none = m_.f(Scalar::F64, 0);
    const Id bits = m_.bitcast(Scalar::U64, sum);
    const Id one = m_.constant(Scalar::U64, 1);
    const Id odd = m_.emit(
        spv::OpINotEqual, Scalar::Bool,
        {m_.emit(spv::OpBitwiseAnd, Scalar::U64, {bits, one}), m_.constant(Scalar::U64, 0)});
    const Id lost = m_.emit(spv::OpFOrdNotEqual, Scalar::Bool, {error, none});
    const Id positive = m_.emit(spv::OpFOrdGreaterThan, Scalar::Bool, {error, none});
    const Id negative_sum = m_.emit(spv::OpFOrdLessThan, Scalar::Bool, {sum, none});
    // Away from zero when error and sum have one sign.
    const Id outward = m_.emit(spv::OpLogicalNotEqual, Scalar::Bool, {positive, negative_sum});
    const Id next = m_.select(Scalar::U64, outward, m_.emit(spv::OpIAdd, Scalar::U64, {bits, one}),
                              m_.emit(spv::OpISub, Scalar::U64, {bits, one}));
    const Id adjust = m_.emit(spv::OpLogicalAnd, Scalar::Bool,
                              {lost, m_.emit(spv::OpLogicalNot, Scalar::Bool, {odd})});
    return m_.bitcast(Scalar::F64, m_.select(Scalar::U64, adjust, next, bits));
  }

 private:
  struct Halves {
    Id high;
    Id low;
  };

  /// 26 digits and the rest (Veltkamp).
  Halves split(Id a) {
    const Id scaled = mul(a, m_.f(Scalar::F64, 134217729));  // 2^27 + 1
    const Id high = sub(scaled, sub(scaled, a));
    return {high, sub(a, high)};
  }

  Module& m_;
};

}  // namespace

Id fma_in_f64(Module& m, Id a, Id b, Id c) {
  const auto wide = [&](Id value) { return m.emit(spv::OpFConvert, Scalar::F64, {value}); };
  Wide f64(m);
  const Id product = f64.mul(wide(a), wide(b));  // exact
  const Id addend = wide(c);
  const Id sum = f64.add(product, addend);
  const Id odd = f64.to_odd(sum, f64.error_of_sum(sum, product, addend));
  return m.emit(spv::OpFConvert, Scalar::F32, {odd});
}

/// Boldo and Melquiond, Emulation of FMA and correctly rounded sums (2008).
Id fma_in_pairs(Module& m, Id a, Id b, Id c) {
  Wide f64(m);
  const Id product = f64.mul(a, b);
  const Id lost = f64.error_of_product(product, a, b);
  const Id low = f64.add(c, lost);
  const Id low_error = f64.error_of_sum(low, c, lost);
  const Id high = f64.add(product, low);
  const Id high_error = f64.error_of_sum(high, product, low);
  const Id rest = f64.add(low_error, high_error);
  const Id odd = f64.to_odd(rest, f64.error_of_sum(rest, low_error, high_error));
  const Id result = f64.add(high, odd);
  // A zero has the sign of the plain sum, and what is no number is no better than it.
  const Id better = m.emit(spv::OpFOrdNotEqual, Scalar::Bool, {result, m.f(Scalar::F64, 0)});
  return m.select(Scalar::F64, better, result, f64.add(product, c));
}

}  // namespace salvo::codegen::spirv
