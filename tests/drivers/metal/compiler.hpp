// Compiles MSL for the host: an ordinary C++ compiler with the test header of MSL.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/metal/machine.hpp"

namespace salvo::test::metal {

/// A kernel function of a library.
struct Kernel {
  std::string name;
  Entry entry = nullptr;
  std::vector<unsigned> buffers;  // numbers of its buffer arguments
  bool has_shared = false;        // threadgroup argument 0
};

struct Library {
  std::shared_ptr<void> handle;  // of dlopen
  Hooks* hooks = nullptr;
  bool threads_meet = false;
  std::map<std::string, Kernel> kernels;
};

struct CompilerOptions {
  bool exact = false;      // no fast math
  bool contracts = false;  // fuses multiplies and adds whatever the source says
  std::uint32_t language_version = 0;
};

/// Null with the reason in `log` if it does not compile.
std::shared_ptr<const Library> compile(const std::string& source, const CompilerOptions& options,
                                       std::string& log);

}  // namespace salvo::test::metal
