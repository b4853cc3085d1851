// Operations between the threads of a warp, which SPIR-V calls a subgroup.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

class Warp {
 public:
  explicit Warp(Module& module) : m_(module) {}

  Id lane();  // I32
  Id size();
  Id emit(const ir::Node& node, std::span<const Id> operands);

 private:
  Id shuffle(const ir::Node& node, std::span<const Id> operands);
  Id reduce(const ir::Node& node, Id value);
  Id ballot(Id value);

  Module& m_;
  Id lane_ = 0;  // built-in variables
  Id size_ = 0;
};

}  // namespace salvo::codegen::spirv
