// Reads a kernel's arguments from push constants and the argument table.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/spirv/layout.hpp"
#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

class Parameters {
 public:
  Parameters(Module& module, const Layout& layout);

  /// `slot` is the id of an integer, or 0 for the first.
  Id address(std::uint32_t parameter, Id slot);
  Id length(std::uint32_t parameter, Id slot);  // I64
  Id scalar(std::uint32_t parameter, Id slot);  // in its compute type

 private:
  struct Member {
    int index = -1;  // in its block
    Id type = 0;
    bool is_array = false;
  };
  struct Block {
    spv::StorageClass storage;
    Id variable = 0;
    std::vector<Id> types;
    std::vector<std::uint32_t> offsets;
  };

  Member add(Block& block, unsigned bits, std::uint32_t slots, std::uint32_t offset);
  void declare(Block& block, const char* name);
  Id load(const Block& block, const Member& member, Id slot);

  Module& m_;
  Block table_{spv::StorageClassUniform, 0, {}, {}};
  Block push_{spv::StorageClassPushConstant, 0, {}, {}};
  bool values_in_table_;
  std::vector<Member> addresses_;  // by parameter
  std::vector<Member> values_;
};

}  // namespace salvo::codegen::spirv
