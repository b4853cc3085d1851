// Math functions as formulas, of F64 unless they say otherwise. Domains and special values are C's.
// SPDX-License-Identifier: MIT
#pragma once

#include "passes/math/number.hpp"

namespace salvo::passes::math {

Number exponential(const Number& x);
Number exponential_2(const Number& x);
Number exponential_m1(const Number& x);
Number hyperbolic_sine(const Number& x);
Number hyperbolic_cosine(const Number& x);
Number hyperbolic_tangent(const Number& x);

Number logarithm(const Number& x);
Number logarithm_2(const Number& x);
Number logarithm_10(const Number& x);
Number logarithm_1p(const Number& x);
Number power(const Number& x, const Number& y);

Number sine(const Number& x);
Number cosine(const Number& x);
Number tangent(const Number& x);
Number arc_sine(const Number& x);
Number arc_cosine(const Number& x);
Number arc_tangent(const Number& x);
Number arc_tangent_2(const Number& y, const Number& x);

Number reciprocal_root(const Number& x);
Number cube_root(const Number& x);
Number hypotenuse(const Number& x, const Number& y);
Number remainder(const Number& x, const Number& y);

/// exp of an F32, in F32.
Number exponential_single(const Number& x);

/// exp(high + low) for |low| well below an ulp of high.
Number exponential_of_sum(const Number& high, const Number& low);

}  // namespace salvo::passes::math
