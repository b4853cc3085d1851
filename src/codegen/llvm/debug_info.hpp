// Line tables for generated code: LLVM's metadata for the places in the user's C++.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

/// Numbers metadata nodes of a module, debug information and others.
class DebugInfo {
 public:
  DebugInfo(const ir::Kernel& kernel, bool enabled);

  /// " !dbg !N" for the function, or nothing.
  std::string function() const;
  /// ", !dbg !N" for what runs ahead of all threads, or nothing. A debugger that stops at the
  /// function goes on to its second place, and must not find that in one of several copies of code.
  std::string start() const;
  /// ", !dbg !N" for an instruction at a location of the kernel, or nothing.
  std::string at(ir::LocationId location);
  /// Number of a new node with this content.
  unsigned add(std::string content);
  /// A new node that refers to itself first, as loops' metadata must.
  unsigned add_distinct(const std::string& rest);
  /// All of it, for the end of the module.
  std::string text() const;

 private:
  unsigned file(const std::string& path);

  const ir::Kernel& kernel_;
  bool enabled_;
  std::vector<std::string> nodes_;
  std::map<std::string, unsigned> files_;
  std::map<std::string, unsigned> scopes_;  // of each file
  std::map<ir::LocationId, unsigned> locations_;
  unsigned unit_ = 0;
  unsigned function_ = 0;
  unsigned start_ = 0;
};

}  // namespace salvo::codegen::llvm
