// The backend that compiles kernels for the host's cores with LLVM.
// SPDX-License-Identifier: MIT
//
// A block of threads is run by one core, in vectors of as many threads as the widest register holds
// numbers (codegen/llvm); the blocks of a launch are spread over all cores. Launches are done when
// the call returns and are never deferred (W4).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::backends::native {

struct Settings {
  unsigned llvm = 0;  // version; 0: the newest there is
  /// Accesses out of bounds end the launch with an Error rather than the program.
  bool bounds_checks = false;
  /// Tells gdb and perf about kernels, with line tables.
  bool symbols = false;
  /// Processor features to generate code for, as LLVM names them; empty: the host's. For tests.
  std::string features{};
};

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings);

}  // namespace salvo::backends::native
