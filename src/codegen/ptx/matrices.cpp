// PTX for cooperative matrices: the wmma instructions of shape m16n16k16.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/matrices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/cuda_fragments.hpp"
#include "codegen/matrices.hpp"
#include "ir/matrices.hpp"

namespace salvo::codegen::ptx {

using ir::MatrixLayout;
using ir::Op;
using ir::Scalar;

void Matrices::declare() {
  const std::vector<MatrixLayout> layouts = ir::matrix_layouts(kernel_);
  for (std::size_t i = 0; i < kernel_.matrices.size(); ++i) {
    const ir::Matrix& matrix = kernel_.matrices[i];
    const int count = fragment_registers(matrix);
    if (count == 0) refuse_matrix(kernel_, matrix, "CUDA/PTX");
    Fragment fragment{&matrix, layout_word(layouts[i]), {}};
    for (int r = 0; r < count; ++r) {
      fragment.registers.push_back(to_.fresh(matrix.type == Scalar::F32 ? Bank::f32 : Bank::b32));
    }
    fragments_.push_back(std::move(fragment));
  }
}

void Matrices::fill(const ir::Node& node, const std::string& value) {
  const Fragment& fragment = fragments_[node.index];
  if (fragment.matrix->type == Scalar::F32) {
    for (const std::string& part : fragment.registers) to_.put("mov.f32 {}, {}", part, value);
    return;
  }
  const std::string both = access_.pair_of_halves(fragment.matrix->type, value);
  for (const std::string& part : fragment.registers) to_.put("mov.b32 {}, {}", part, both);
}

void Matrices::access(const ir::Node& node, const Place& place, const std::string& stride) {
  const Fragment& fragment = fragments_[node.index];
  const bool loads = node.op == Op::MatrixLoad;
  const std::string instruction = fmt::format(
      "wmma.{}.{}.sync.aligned.{}.m16n16k16.{}.{}", loads ? "load" : "store",
      operand_word(fragment.matrix->use, loads), layout_word(static_cast<MatrixLayout>(node.axis)),
      place.space, name(fragment.matrix->type));
  const std::string parts = fmt::format("{{{}}}", fmt::join(fragment.registers, ", "));
  if (loads) {
    to_.put("{} {}, [{}], {}", instruction, parts, place.address, stride);
  } else {
    to_.put("{} [{}], {}, {}", instruction, place.address, parts, stride);
  }
}

void Matrices::multiply_add(const ir::Node& node) {
  const auto parts = [&](std::uint32_t id) {
    return fmt::format("{{{}}}", fmt::join(fragments_[id].registers, ", "));
  };
  const Fragment& a = fragments_[node.matrices[0]];
  const Fragment& b = fragments_[node.matrices[1]];
  const Fragment& c = fragments_[node.matrices[2]];
  to_.put("wmma.mma.sync.aligned.{}.{}.m16n16k16.{} {}, {}, {}, {}", a.layout, b.layout,
          multiply_types(a.matrix->type, c.matrix->type), parts(node.index),
          parts(node.matrices[0]), parts(node.matrices[1]), parts(node.matrices[2]));
}

void Matrices::copy(const ir::Node& node) {
  const Fragment& to = fragments_[node.index];
  const Fragment& from = fragments_[node.matrices[0]];
  for (std::size_t i = 0; i < to.registers.size(); ++i) {
    to_.put("mov.{} {}, {}", to.matrix->type == Scalar::F32 ? "f32" : "b32", to.registers[i],
            from.registers[i]);
  }
}

}  // namespace salvo::codegen::ptx
