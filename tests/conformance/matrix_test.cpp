// Cooperative matrices, on devices that have them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"
#include "salvo/types.hpp"
#include "unit/matrix_kernels.hpp"

namespace salvo::conformance {
namespace {

using ir::MatrixLayout;

/// Whole numbers whose products and sums every type here holds exactly.
Value small_numbers(Scalar type, std::uint32_t count, int modulus) {
  std::vector<float> numbers;
  for (std::uint32_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(static_cast<int>(i) % modulus - modulus / 2));
  }
  if (type == Scalar::F16) return span(std::vector<half>(numbers.begin(), numbers.end()));
  if (type == Scalar::BF16) return span(std::vector<bfloat16>(numbers.begin(), numbers.end()));
  return span(numbers);
}

class Matrices : public OnDevice {
 protected:
  runtime::LaunchShape one_warp() const {
    return {{1, 1, 1}, {driver().properties().warp_size, 1, 1}, 0};
  }

  void check_product(const CooperativeMatrixShape& s, const test::Moves& moves) {
    const std::uint32_t elements = s.m * s.n;
    check(
        {.kernel = test::matrix_product(s, moves),
         .shape = one_warp(),
         .arguments = {small_numbers(s.inputs, s.m * s.k, 7), small_numbers(s.inputs, s.k * s.n, 5),
                       small_numbers(s.accumulator, elements, 11),
                       zeros(elements, ir::size_of(s.accumulator))},
         .options = {}});
  }

  /// Products in every layout, from global and shared memory, and fills and copies.
  void check_shape(const CooperativeMatrixShape& s) {
    constexpr auto kRows = MatrixLayout::row_major, kColumns = MatrixLayout::column_major;
    for (const MatrixLayout a : {kRows, kColumns}) {
      for (const MatrixLayout b : {kRows, kColumns}) {
        for (const bool through_shared : {false, true}) {
          check_product(s, {a, b, b, through_shared, through_shared ? 2U : 40U});
          if (IsSkipped()) return;
        }
      }
    }
    check({.kernel = test::filled_product(s),
           .shape = one_warp(),
           .arguments = {zeros(s.m * s.n, ir::size_of(s.accumulator))},
           .options = {}});
  }
};
SALVO_ON_DEVICES(Matrices);

TEST_P(Matrices, HalvesAddUpInF32) {
  check_shape({16, 16, 16, Scalar::F16, Scalar::F32});
}
TEST_P(Matrices, HalvesAddUpInHalves) {
  check_shape({16, 16, 16, Scalar::F16, Scalar::F16});
}
TEST_P(Matrices, BrainFloatsAddUpInF32) {
  check_shape({16, 16, 16, Scalar::BF16, Scalar::F32});
}
TEST_P(Matrices, SmallOnesOfHalvesAddUpInF32) {
  check_shape({8, 8, 8, Scalar::F16, Scalar::F32});
}
TEST_P(Matrices, SmallOnesOfHalvesAddUpInHalves) {
  check_shape({8, 8, 8, Scalar::F16, Scalar::F16});
}
TEST_P(Matrices, SmallOnesOfBrainFloatsAddUpInF32) {
  check_shape({8, 8, 8, Scalar::BF16, Scalar::F32});
}
TEST_P(Matrices, NarrowOnesAddUpInF32) {
  check_shape({16, 8, 16, Scalar::F16, Scalar::F32});
}

}  // namespace
}  // namespace salvo::conformance
