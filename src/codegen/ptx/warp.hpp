// PTX for the operations between the threads of a warp.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>

#include "codegen/ptx/arithmetic.hpp"

namespace salvo::codegen::ptx {

class WarpOperations {
 public:
  WarpOperations(Writer& writer, Arithmetic& arithmetic) : to_(writer), arithmetic_(arithmetic) {}

  /// Finds out which lanes there are: the last warp of a block may have fewer than 32.
  void begin();
  std::string lane() const { return lane_; }
  /// `type` is that of the value; a lane or distance is a 32-bit word.
  std::string operation(ir::Op op, ir::Scalar type, std::span<const std::string> operands);

 private:
  std::string shuffle(std::string_view how, ir::Scalar type, const std::string& value,
                      std::string_view lane, int bound);
  std::string reduce(ir::Op op, ir::Scalar type, std::string value);

  Writer& to_;
  Arithmetic& arithmetic_;
  std::string lanes_;  // a bit per lane there is
  std::string lane_;
};

}  // namespace salvo::codegen::ptx
