// CUDA C++ for cooperative matrices: wmma instructions in assembler statements.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/cuda_matrices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "codegen/c_family/helpers.hpp"
#include "codegen/cuda_fragments.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::MatrixLayout;
using ir::Op;
using ir::Scalar;

bool is_float(const ir::Matrix& matrix) {
  return matrix.type == Scalar::F32;
}
std::string_view register_type(const ir::Matrix& matrix) {
  return is_float(matrix) ? "float" : "unsigned int";
}

/// "{%4, %5, %6, %7}": operands of the statement from `first` on.
std::string numbered(int first, int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(fmt::format("%{}", first + i));
  return fmt::format("{{{}}}", fmt::join(all, ", "));
}

/// "\"+r\"(m[0]), ...": the registers of `name` as operands.
std::string bound(std::string_view modifier, const ir::Matrix& matrix, std::string_view name) {
  std::vector<std::string> all;
  for (int i = 0; i < fragment_registers(matrix); ++i) {
    all.push_back(fmt::format("\"{}{}\"({}[{}])", modifier, is_float(matrix) ? "f" : "r", name, i));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

class CudaMatrixWords final : public MatrixWords {
 public:
  bool has(const ir::Matrix& matrix) const override { return fragment_registers(matrix) != 0; }

  std::string declare(const MatrixText& text) const override {
    return fmt::format("{} {}[{}]", register_type(*text.matrix), text.name,
                       fragment_registers(*text.matrix));
  }

  std::string fill(const MatrixText& text, std::string_view value,
                   Helpers& helpers) const override {
    const ir::Matrix& matrix = *text.matrix;
    std::string part(value);
    if (matrix.type == Scalar::F16) {
      part = fmt::format("{}({})",
                         helpers.define("salvo_pair_of_f16",
                                        "$F unsigned int $N(float value) {\n"
                                        "  unsigned int pair;\n"
                                        "  asm(\"{ .reg .b16 h; cvt.rn.f16.f32 h, %1; mov.b32 %0, "
                                        "{h, h}; }\" : \"=r\"(pair) : \"f\"(value));\n"
                                        "  return pair;\n"
                                        "}\n",
                                        {}),
                         value);
    } else if (matrix.type == Scalar::BF16) {
      part = fmt::format("{}({}) * 0x10001u", helpers.to_bf16(), value);
    }
    return fmt::format("for (int salvo_i = 0; salvo_i < {}; ++salvo_i) {}[salvo_i] = {}",
                       fragment_registers(matrix), text.name, part);
  }

  std::string access(Op op, const MatrixText& text, const Place& place, std::string_view stride,
                     MatrixLayout layout, Helpers& helpers) const override {
    const ir::Matrix& matrix = *text.matrix;
    const bool loads = op == Op::MatrixLoad;
    const std::string_view operand = operand_word(matrix.use, loads);
    const int count = fragment_registers(matrix);
    const std::string instruction =
        fmt::format("wmma.{}.{}.sync.aligned.{}.m16n16k16.{}", loads ? "load" : "store", operand,
                    layout_word(layout), name(matrix.type));
    const std::string name = fmt::format("salvo_{}_{}_{}_{}", ir::name(op), ir::name(matrix.use),
                                         ir::name(matrix.type), layout_word(layout));
    std::string text_of_function;
    if (loads) {
      text_of_function = fmt::format(
          "$F void $N({}* m, const void* from, unsigned int stride) {{\n"
          "  asm volatile(\"{} {}, [%{}], %{};\"\n"
          "               : {}\n"
          "               : \"l\"(from), \"r\"(stride) : \"memory\");\n"
          "}}\n",
          register_type(matrix), instruction, numbered(0, count), count, count + 1,
          bound("=", matrix, "m"));
    } else {
      text_of_function = fmt::format(
          "$F void $N(const {}* m, void* to, unsigned int stride) {{\n"
          "  asm volatile(\"{} [%0], {}, %1;\"\n"
          "               : : \"l\"(to), \"r\"(stride), {} : \"memory\");\n"
          "}}\n",
          register_type(matrix), instruction, numbered(2, count), bound("", matrix, "m"));
    }
    return fmt::format("{}({}, &{}, (unsigned int){})", helpers.define(name, text_of_function, {}),
                       text.name, place.lvalue, stride);
  }

  std::string multiply_add(const MatrixText& result,
                           const std::array<const MatrixText*, 3>& operands,
                           Helpers& helpers) const override {
    const auto& [a, b, c] = operands;
    const std::string_view a_layout = layout_word(a->layout), b_layout = layout_word(b->layout);
    const int sums = fragment_registers(*c->matrix);
    const int inputs = fragment_registers(*a->matrix);
    const std::string name =
        fmt::format("salvo_multiply_add_{}_{}_{}_{}", ir::name(a->matrix->type),
                    ir::name(c->matrix->type), a_layout, b_layout);
    const std::string function = fmt::format(
        "$F void $N({0}* d, const unsigned int* a, const unsigned int* b, const {0}* c) {{\n"
        "  asm volatile(\"wmma.mma.sync.aligned.{1}.{2}.m16n16k16.{3} {4}, {5}, {6}, {7};\"\n"
        "               : {8}\n"
        "               : {9},\n"
        "                 {10},\n"
        "                 {11});\n"
        "}}\n",
        register_type(*c->matrix), a_layout, b_layout,
        multiply_types(a->matrix->type, c->matrix->type), numbered(0, sums), numbered(sums, inputs),
        numbered(sums + inputs, inputs), numbered(sums + 2 * inputs, sums),
        bound("=", *c->matrix, "d"), bound("", *a->matrix, "a"), bound("", *b->matrix, "b"),
        bound("", *c->matrix, "c"));
    return fmt::format("{}({}, {}, {}, {})", helpers.define(name, function, {}), result.name,
                       a->name, b->name, c->name);
  }

  std::string copy(const MatrixText& to, const MatrixText& from, Helpers&) const override {
    return fmt::format("for (int salvo_i = 0; salvo_i < {}; ++salvo_i) {}[salvo_i] = {}[salvo_i]",
                       fragment_registers(*to.matrix), to.name, from.name);
  }

  std::string_view alignment() const override { return "__align__(32) "; }
};

}  // namespace

const MatrixWords& cuda_matrix_words() {
  // Never destroyed: other threads may print while the program exits.
  static const MatrixWords& words = *new CudaMatrixWords;
  return words;
}

}  // namespace salvo::codegen::c_family
