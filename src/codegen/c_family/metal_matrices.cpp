// MSL for cooperative matrices: arrays of simdgroup matrices of 8x8.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/metal_matrices.hpp"

#include <fmt/format.h>

#include "codegen/c_family/helpers.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::MatrixLayout;
using ir::Op;
using ir::Scalar;
using ir::Space;

constexpr std::uint32_t kSide = 8;

std::string_view element(const ir::Matrix& matrix) {
  if (matrix.type == Scalar::F32) return "float";
  return matrix.type == Scalar::F16 ? "half" : "bfloat";
}
std::uint32_t parts(const ir::Matrix& matrix) {
  return matrix.elements() / (kSide * kSide);
}

// In column-major order a part is transposed on its way, and parts below one another are
// neighbours.
constexpr std::string_view kLoad =
    "template <typename T, uint rows, uint columns, bool turned, typename Pointer>\n"
    "$F void $N(thread simdgroup_matrix<T, 8, 8>* m, Pointer from, ulong stride) {\n"
    "  for (uint r = 0; r < rows; ++r) {\n"
    "    for (uint c = 0; c < columns; ++c) {\n"
    "      const ulong first = turned ? c * 8 * stride + r * 8 : r * 8 * stride + c * 8;\n"
    "      simdgroup_load(m[r * columns + c], from + first, stride, ulong2(0), turned);\n"
    "    }\n"
    "  }\n"
    "}\n";
constexpr std::string_view kStore =
    "template <typename T, uint rows, uint columns, bool turned, typename Pointer>\n"
    "$F void $N(thread const simdgroup_matrix<T, 8, 8>* m, Pointer to, ulong stride) {\n"
    "  for (uint r = 0; r < rows; ++r) {\n"
    "    for (uint c = 0; c < columns; ++c) {\n"
    "      const ulong first = turned ? c * 8 * stride + r * 8 : r * 8 * stride + c * 8;\n"
    "      simdgroup_store(m[r * columns + c], to + first, stride, ulong2(0), turned);\n"
    "    }\n"
    "  }\n"
    "}\n";
constexpr std::string_view kMultiplyAdd =
    "template <uint rows, uint columns, uint inner, typename T, typename S>\n"
    "$F void $N(thread simdgroup_matrix<S, 8, 8>* d, thread const simdgroup_matrix<T, 8, 8>* a,\n"
    "           thread const simdgroup_matrix<T, 8, 8>* b,\n"
    "           thread const simdgroup_matrix<S, 8, 8>* c) {\n"
    "  for (uint r = 0; r < rows; ++r) {\n"
    "    for (uint column = 0; column < columns; ++column) {\n"
    "      simdgroup_matrix<S, 8, 8> sum = c[r * columns + column];\n"
    "      for (uint k = 0; k < inner; ++k) {\n"
    "        simdgroup_multiply_accumulate(sum, a[r * inner + k], b[k * columns + column], sum);\n"
    "      }\n"
    "      d[r * columns + column] = sum;\n"
    "    }\n"
    "  }\n"
    "}\n";

class MetalMatrixWords final : public MatrixWords {
 public:
  bool has(const ir::Matrix& matrix) const override {
    return matrix.rows % kSide == 0 && matrix.columns % kSide == 0;
  }

  std::string declare(const MatrixText& text) const override {
    return fmt::format("simdgroup_matrix<{}, 8, 8> {}[{}]", element(*text.matrix), text.name,
                       parts(*text.matrix));
  }

  std::string fill(const MatrixText& text, std::string_view value, Helpers&) const override {
    return fmt::format(
        "for (uint salvo_i = 0; salvo_i < {0}; ++salvo_i) {1}[salvo_i] = "
        "make_filled_simdgroup_matrix<{2}, 8, 8>(({2}){3})",
        parts(*text.matrix), text.name, element(*text.matrix), value);
  }

  std::string access(Op op, const MatrixText& text, const Place& place, std::string_view stride,
                     MatrixLayout layout, Helpers& helpers) const override {
    const ir::Matrix& matrix = *text.matrix;
    const bool loads = op == Op::MatrixLoad;
    const std::string function = loads ? helpers.define("salvo_matrix_load", kLoad, {})
                                       : helpers.define("salvo_matrix_store", kStore, {});
    return fmt::format("{}<{}, {}, {}, {}>({}, ({}{}{}*)&{}, (ulong){})", function, element(matrix),
                       matrix.rows / kSide, matrix.columns / kSide,
                       layout == MatrixLayout::column_major, text.name,
                       place.space == Space::Shared ? "threadgroup " : "device ",
                       loads ? "const " : "", element(matrix), place.lvalue, stride);
  }

  std::string multiply_add(const MatrixText& result,
                           const std::array<const MatrixText*, 3>& operands,
                           Helpers& helpers) const override {
    const auto& [a, b, c] = operands;
    return fmt::format("{}<{}, {}, {}>({}, {}, {}, {})",
                       helpers.define("salvo_multiply_add", kMultiplyAdd, {}),
                       c->matrix->rows / kSide, c->matrix->columns / kSide,
                       a->matrix->columns / kSide, result.name, a->name, b->name, c->name);
  }

  std::string copy(const MatrixText& to, const MatrixText& from, Helpers&) const override {
    return fmt::format("for (uint salvo_i = 0; salvo_i < {}; ++salvo_i) {}[salvo_i] = {}[salvo_i]",
                       parts(*to.matrix), to.name, from.name);
  }

  std::string_view alignment() const override { return ""; }
};

}  // namespace

const MatrixWords& metal_matrix_words() {
  // Never destroyed: other threads may print while the program exits.
  static const MatrixWords& words = *new MetalMatrixWords;
  return words;
}

}  // namespace salvo::codegen::c_family
